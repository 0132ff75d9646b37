/* Receives of host memory that are older than the GPU: rank 1 posts them before it has any device memory, and they get
 * what lies in device memory of rank 0. No message to rank 1 has a short RTS then, and the counter says why; messages
 * to rank 0, which has posted none, have. Two ranks. */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { BYTES = 24, FIRST = 3, KEPT = 4, TAG = 5, STARTS = 4 };

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

int main(int argc, char **argv)
{
    MPI_Request first = MPI_REQUEST_NULL, kept = MPI_REQUEST_NULL;
    char one[BYTES], again[BYTES];
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2)
        kit_skip("early", "needs two ranks, and the library in front");
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
    return kit_end("early");
}
