/* Receives of host memory that are older than the GPU: rank 1 posts them before it has any device memory, and they get
 * what lies in device memory of rank 0. Two ranks, and one of the cases:
 * - short: no message to rank 1 has a short RTS then, and the counter says why; messages to rank 0, which has posted
 *   none, have.
 * - sendrecv, replace: rank 1 passes its first device memory in MPI_Sendrecv or MPI_Sendrecv_replace. The send to the
 *   open receive ends while rank 1 waits there. TUTTI_ENDPOINT_MB is 1. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { BYTES = 24, MIDDLE = 4000, LONG = 3000000, WAITS_US = 200000, FIRST = 3, KEPT = 4, TAG = 5, STARTS = 4 };

static struct kit_buffer mine;

static const char *contents(int seed)
{
    static char data[BYTES];
    for (int b = 0; b < BYTES; b++)
        data[b] = (char)random_mix(kit_seed + (uint64_t)seed * 1000003 + (uint64_t)b);
    return data;
}

static void send(int seed, int to, int tag)
{
    MPI_Send(kit_put(&mine, 0, contents(seed), BYTES), BYTES, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

static void receive(int seed, int from)
{
    void *to = kit_put(&mine, 0, NULL, BYTES);
    MPI_Recv(to, BYTES, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(memcmp(kit_get(&mine, NULL), contents(seed), BYTES) == 0, "message %d is wrong", seed);
}

static void short_messages(void)
{
    MPI_Request first = MPI_REQUEST_NULL, kept = MPI_REQUEST_NULL;
    char one[BYTES], again[BYTES];
    if (kit_rank == 1) {
        MPI_Irecv(one, BYTES, MPI_BYTE, 0, FIRST, MPI_COMM_WORLD, &first);
        MPI_Recv_init(again, BYTES, MPI_BYTE, 0, KEPT, MPI_COMM_WORLD, &kept);
        MPI_Start(&kept);
    }
    kit_open(&mine, KIT_DEVICE, BYTES);
    for (int i = 0; i < 40 && kit_rank < 2; i++) { /* both are met, in both directions */
        if (kit_rank == 0) {
            send(i, 1, TAG);
            receive(i, 1);
        } else {
            receive(i, 0);
            send(i, 0, TAG);
        }
    }
    if (kit_rank == 0) {
        send(100, 1, FIRST);
        for (int i = 0; i < STARTS; i++)
            send(200 + i, 1, KEPT);
        CHECK(kit_counted("MPI_Send", "receives older than the GPU") > 0, "not counted");
    } else if (kit_rank == 1) {
        MPI_Wait(&first, MPI_STATUS_IGNORE);
        CHECK(memcmp(one, contents(100), BYTES) == 0, "the first receive has got other bytes");
        for (int i = 0; i < STARTS; i++) {
            MPI_Wait(&kept, MPI_STATUS_IGNORE);
            CHECK(memcmp(again, contents(200 + i), BYTES) == 0, "start %d has got other bytes", i);
            if (i + 1 < STARTS)
                MPI_Start(&kept);
        }
        MPI_Request_free(&kept);
        CHECK(kit_counted("MPI_Send", "accelerated") > 0, "messages to rank 0 go through the MPI");
    }
    kit_close(&mine);
}

static void fill(char *data, int bytes, int seed)
{
    for (int b = 0; b < bytes; b++)
        data[b] = (char)random_mix(kit_seed + (uint64_t)seed * 1000003 + (uint64_t)b);
}

/* Both ranks exchange messages, which are of device memory. */
static void exchange(int replace)
{
    static char sent[MIDDLE], wanted[MIDDLE];
    struct kit_buffer out, in;
    const int peer = 1 - kit_rank;
    fill(sent, MIDDLE, 300 + kit_rank);
    fill(wanted, MIDDLE, 300 + peer);
    kit_open(&out, KIT_DEVICE, MIDDLE);
    kit_open(&in, KIT_DEVICE, MIDDLE);
    char *const from = kit_put(&out, 0, sent, MIDDLE), *const to = kit_put(&in, 0, NULL, MIDDLE);
    if (replace)
        MPI_Sendrecv_replace(from, MIDDLE, MPI_BYTE, peer, TAG, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Sendrecv(from, MIDDLE, MPI_BYTE, peer, TAG, to, MIDDLE, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    CHECK(memcmp(kit_get(replace ? &out : &in, NULL), wanted, MIDDLE) == 0, "the exchange is wrong");
    kit_close(&out);
    kit_close(&in);
}

/* A message of more bytes than the sender's scratch has, so that its receiver has to fetch pieces. */
static void first_in_exchange(int replace)
{
    static char room[LONG + MIDDLE], data[LONG];
    MPI_Request request = MPI_REQUEST_NULL;
    fill(data, LONG, 200);
    if (kit_rank == 1) {
        MPI_Irecv(room, sizeof room, MPI_BYTE, 0, FIRST, MPI_COMM_WORLD, &request);
    } else if (kit_rank == 0) {
        struct kit_buffer out;
        kit_open(&out, KIT_DEVICE, LONG);
        void *const from = kit_put(&out, 0, data, LONG);
        usleep(WAITS_US); /* rank 1 waits in the exchange */
        MPI_Send(from, LONG, MPI_BYTE, 1, FIRST, MPI_COMM_WORLD);
        kit_close(&out);
    }
    if (kit_rank < 2)
        exchange(replace);
    if (kit_rank == 1) {
        int received = 0;
        MPI_Status status;
        MPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_BYTE, &received);
        CHECK(received == LONG && memcmp(room, data, LONG) == 0, "%d bytes, or wrong ones", received);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const char *const which = argc > 1 ? argv[1] : "short";
    if (kit_plain || kit_size < 2)
        kit_skip("early", "needs two ranks, and the library in front");
    if (strcmp(which, "short") == 0)
        short_messages();
    else
        first_in_exchange(strcmp(which, "replace") == 0);
    return kit_end("early");
}
