/* A sender that computes, and makes no call until its receiver says by other means that the messages have arrived: what
 * a send has begun needs no further call of the sender. Bursts of messages from many allocations, which are staged,
 * packed or fetched. Argument: bytes of a message. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { ROUNDS = 256, LEVELS = 30, SENDS = 4, MOST = 300000, TAG = 5, SECONDS = 20 };

static struct kit_buffer out[LEVELS], in[LEVELS];
static int bytes = 2000;
static char data[SENDS * MOST];
static MPI_Request requests[2 * SENDS];
static MPI_Status statuses[SENDS];
static atomic_int *arrived; /* of the peer's memory and this rank's: rounds that its owner has received */

static const char *contents(int rank, int round)
{
    for (int i = 0; i < SENDS * bytes; i++)
        data[i] = (char)(rank * 91 + round * 37 + i + i / 251);
    return data;
}

/* 1 once the peer has received. */
static int is_there(int round)
{
    const double until = MPI_Wtime() + SECONDS;
    while (atomic_load(&arrived[1 - kit_rank]) <= round) {
        if (MPI_Wtime() > until)
            return 0;
    }
    return 1;
}

/* One that computes afterwards may also have sent by a call that blocks. */
#ifdef MPICH_VERSION
enum { ISEND, SEND, START, FORMS, ISSEND }; /* MPICH's own MPI_Issend needs a further call, of ordinary memory too */
#else
enum { ISEND, SEND, ISSEND, START, FORMS };
#endif

static void send_one(const char *from, int tag, int form, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    switch (form) {
    case SEND:
        MPI_Send(from, bytes, MPI_BYTE, 1 - kit_rank, tag, MPI_COMM_WORLD);
        break;
    case ISSEND:
        MPI_Issend(from, bytes, MPI_BYTE, 1 - kit_rank, tag, MPI_COMM_WORLD, request);
        break;
    case START:
        MPI_Send_init(from, bytes, MPI_BYTE, 1 - kit_rank, tag, MPI_COMM_WORLD, request);
        MPI_Start(request);
        break;
    default:
        MPI_Isend(from, bytes, MPI_BYTE, 1 - kit_rank, tag, MPI_COMM_WORLD, request);
    }
}

static int exchange(int round)
{
    const int level = round % LEVELS, away = kit_rank == round / 8 % 2, sends = 1 + round / 64 % SENDS;
    char *const to = kit_put(&in[level], 0, NULL, SENDS * bytes);
    const char *const from = kit_put(&out[level], 0, contents(kit_rank, round), SENDS * bytes);
    int there = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < sends; i++)
        MPI_Irecv(to + i * bytes, bytes, MPI_BYTE, 1 - kit_rank, TAG + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < sends; i++)
        send_one(from + i * bytes, TAG + i, away ? (round + i) % FORMS : ISEND, &requests[sends + i]);
    if (away)
        there = CHECK(is_there(round), "round %d: nothing arrives while the sender computes", round);
    MPI_Waitall(sends, requests, statuses);
    atomic_store(&arrived[kit_rank], round + 1);
    MPI_Waitall(sends, requests + sends, statuses);
    for (int i = 0; i < sends; i++) { /* persistent ones */
        if (requests[sends + i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[sends + i]);
    }
    CHECK(memcmp(kit_get(&in[level], NULL), contents(1 - kit_rank, round), (size_t)sends * bytes) == 0,
          "round %d: other bytes", round);
    return there;
}

int main(int argc, char **argv)
{
    MPI_Win win;
    atomic_int *mine;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    bytes = argc > 1 ? atoi(argv[1]) : bytes;
    if (kit_size != 2)
        kit_skip("sent_away", "needs two ranks");
    MPI_Win_allocate_shared(kit_rank == 0 ? 2 * sizeof *mine : 0, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                            &win);
    MPI_Aint size;
    int unit, all = 1;
    MPI_Win_shared_query(win, 0, &size, &unit, &arrived);
    if (kit_rank == 0)
        memset(arrived, 0, 2 * sizeof *arrived);
    for (int i = 0; i < LEVELS; i++) {
        kit_open(&out[i], KIT_DEVICE, SENDS * bytes);
        kit_open(&in[i], KIT_DEVICE, SENDS * bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS && all; round++) {
        const int here = exchange(round);
        MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    for (int i = 0; i < LEVELS; i++) {
        kit_close(&out[i]);
        kit_close(&in[i]);
    }
    MPI_Win_free(&win);
    return kit_end("sent_away");
}
