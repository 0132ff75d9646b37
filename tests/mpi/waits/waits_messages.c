/* Waits for messages. */
#include "waits.h"

#include <stdlib.h>

#include "waits_own.h"

static int other;
static MPI_Status statuses[2];

static void probe(int peer)
{
    MPI_Probe(peer, WAITS_WORD, waits_comm, MPI_STATUS_IGNORE);
    waits_recv_word(peer);
}

static void iprobe(int peer)
{
    for (int flag = 0; !flag;)
        MPI_Iprobe(peer, WAITS_WORD, waits_comm, &flag, MPI_STATUS_IGNORE);
    waits_recv_word(peer);
}

static void mprobe(int peer)
{
    MPI_Message message;
    MPI_Mprobe(peer, WAITS_WORD, waits_comm, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&waits_word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void improbe(int peer)
{
    MPI_Message message;
    MPI_Request request;
    for (int flag = 0; !flag;)
        MPI_Improbe(peer, WAITS_WORD, waits_comm, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(&waits_word, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Two receives, of which one gets a word. */
static void two_begin(int peer, MPI_Request requests[])
{
    MPI_Irecv(&other, 1, MPI_INT, peer, WAITS_NEVER, waits_comm, &requests[0]);
    MPI_Irecv(&waits_word, 1, MPI_INT, peer, WAITS_WORD, waits_comm, &requests[1]);
}

static void two_end(MPI_Request requests[])
{
    MPI_Cancel(&requests[0]);
    MPI_Waitall(2, requests, statuses);
}

static void wait_one(int peer)
{
    MPI_Request requests[2];
    two_begin(peer, requests);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    two_end(requests);
}

static void wait_any(int peer)
{
    MPI_Request requests[2];
    int which;
    two_begin(peer, requests);
    MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
    two_end(requests);
}

static void wait_some(int peer)
{
    MPI_Request requests[2];
    int n, which[2];
    two_begin(peer, requests);
    MPI_Waitsome(2, requests, &n, which, statuses);
    two_end(requests);
}

static void test_one(int peer)
{
    MPI_Request requests[2];
    two_begin(peer, requests);
    for (int flag = 0; !flag;)
        MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
    two_end(requests);
}

static void test_other(int peer)
{
    MPI_Request requests[2];
    two_begin(peer, requests);
    for (int flag = 0, never; !flag;) {
        MPI_Test(&requests[0], &never, MPI_STATUS_IGNORE);
        MPI_Iprobe(peer, WAITS_WORD + 2, waits_comm, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&other, 1, MPI_INT, peer, WAITS_WORD + 2, waits_comm, MPI_STATUS_IGNORE);
    two_end(requests);
}

static void let_other(int peer)
{
    MPI_Send(&waits_word, 1, MPI_INT, peer, WAITS_WORD + 2, waits_comm);
    waits_send_word(peer);
}

static void test_any(int peer)
{
    MPI_Request requests[2];
    two_begin(peer, requests);
    for (int flag = 0, which; !flag;)
        MPI_Testany(2, requests, &which, &flag, MPI_STATUS_IGNORE);
    two_end(requests);
}

static void test_some(int peer)
{
    MPI_Request requests[2];
    two_begin(peer, requests);
    for (int n = 0, which[2]; n == 0;)
        MPI_Testsome(2, requests, &n, which, statuses);
    two_end(requests);
}

static void test_all(int peer)
{
    MPI_Request requests[2];
    two_begin(peer, requests);
    for (int flag = 0; !flag;)
        MPI_Testall(1, &requests[1], &flag, statuses);
    two_end(requests);
}

static void get_status(int peer)
{
    MPI_Request requests[2];
    two_begin(peer, requests);
    for (int flag = 0; !flag;)
        MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
    two_end(requests);
}

static void persistent(int peer)
{
    MPI_Request request;
    MPI_Recv_init(&waits_word, 1, MPI_INT, peer, WAITS_WORD, waits_comm, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void cancelled(int peer)
{
    MPI_Request request;
    MPI_Irecv(&other, 1, MPI_INT, peer, WAITS_NEVER, waits_comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    waits_recv_word(peer);
}

static void ssend_word(int peer)
{
    MPI_Ssend(&waits_word, 1, MPI_INT, peer, WAITS_WORD, waits_comm);
}

static void send_long(int peer)
{
    MPI_Send(waits_memory, WAITS_LONG, MPI_BYTE, peer, WAITS_WORD, waits_comm);
}

static void recv_long(int peer)
{
    MPI_Recv(waits_memory, WAITS_LONG, MPI_BYTE, peer, WAITS_WORD, waits_comm, MPI_STATUS_IGNORE);
}

static void recv_device(int peer)
{
    MPI_Recv(waits_device(0), WAITS_DEVICE, MPI_BYTE, peer, WAITS_WORD, waits_comm, MPI_STATUS_IGNORE);
}

static void send_device(int peer)
{
    MPI_Send(waits_device(0), WAITS_DEVICE, MPI_BYTE, peer, WAITS_WORD, waits_comm);
}

static void ssend_device(int peer)
{
    MPI_Ssend(waits_device(0), WAITS_DEVICE, MPI_BYTE, peer, WAITS_WORD, waits_comm);
}

static void sendrecv(int peer)
{
    MPI_Sendrecv(waits_memory, WAITS_FEW, MPI_BYTE, peer, WAITS_WORD, waits_memory + WAITS_FEW, WAITS_FEW, MPI_BYTE,
                 peer, WAITS_WORD, waits_comm, MPI_STATUS_IGNORE);
}

static void sendrecv_device(int peer)
{
    MPI_Sendrecv(waits_device(0), WAITS_DEVICE, MPI_BYTE, peer, WAITS_WORD, waits_device(1), WAITS_DEVICE, MPI_BYTE,
                 peer, WAITS_WORD, waits_comm, MPI_STATUS_IGNORE);
}

static void replace(int peer)
{
    MPI_Sendrecv_replace(waits_memory, WAITS_LONG, MPI_BYTE, peer, WAITS_WORD, peer, WAITS_WORD, waits_comm,
                         MPI_STATUS_IGNORE);
}

static void replace_device(int peer)
{
    MPI_Sendrecv_replace(waits_device(0), WAITS_DEVICE, MPI_BYTE, peer, WAITS_WORD, peer, WAITS_WORD, waits_comm,
                         MPI_STATUS_IGNORE);
}

static void detach(int peer)
{
    char *memory = malloc(WAITS_LONG + MPI_BSEND_OVERHEAD);
    void *was;
    int size;
    MPI_Buffer_attach(memory, WAITS_LONG + MPI_BSEND_OVERHEAD);
    MPI_Bsend(waits_memory, WAITS_LONG, MPI_BYTE, peer, WAITS_WORD, waits_comm);
    MPI_Buffer_detach(&was, &size);
    free(memory);
}

/* clang-format off */
const struct waits_row waits_messages[] = {
    {"MPI_Recv", waits_recv_word, waits_send_word, NULL, 0},
    {"MPI_Probe", probe, waits_send_word, NULL, 0},
    {"MPI_Iprobe", iprobe, waits_send_word, NULL, 0},
    {"MPI_Mprobe", mprobe, waits_send_word, NULL, 0},
    {"MPI_Improbe", improbe, waits_send_word, NULL, 0},
    {"MPI_Wait", wait_one, waits_send_word, NULL, 0},
    {"MPI_Waitany", wait_any, waits_send_word, NULL, 0},
    {"MPI_Waitsome", wait_some, waits_send_word, NULL, 0},
    {"MPI_Test", test_one, waits_send_word, NULL, 0},
    {"MPI_Test of another request", test_other, let_other, NULL, 0},
    {"MPI_Testany", test_any, waits_send_word, NULL, 0},
    {"MPI_Testsome", test_some, waits_send_word, NULL, 0},
    {"MPI_Testall", test_all, waits_send_word, NULL, 0},
    {"MPI_Request_get_status", get_status, waits_send_word, NULL, 0},
    {"MPI_Start", persistent, waits_send_word, NULL, 0},
    {"MPI_Cancel", cancelled, waits_send_word, NULL, 0},
    {"MPI_Ssend", ssend_word, waits_recv_word, NULL, 0},
    {"MPI_Send of a long message", send_long, recv_long, NULL, 0},
    {"MPI_Recv of a long message", recv_long, send_long, NULL, 0},
    {"MPI_Recv of device memory", recv_device, send_device, NULL, 0},
    {"MPI_Ssend of device memory", ssend_device, recv_device, NULL, 0},
    {"MPI_Send of device memory", send_device, recv_device, NULL, 0},
    {"MPI_Sendrecv", sendrecv, sendrecv, NULL, 0},
    {"MPI_Sendrecv of device memory", sendrecv_device, sendrecv_device, NULL, 0},
    {"MPI_Sendrecv_replace", replace, replace, NULL, 0},
    {"MPI_Sendrecv_replace of device memory", replace_device, replace_device, NULL, 0},
    {"MPI_Buffer_detach", detach, recv_long, NULL, 0},
};
/* clang-format on */
const int waits_message_count = sizeof waits_messages / sizeof waits_messages[0];
