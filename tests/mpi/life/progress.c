/* A large host message under way while its receiver waits in an allreduce of device memory: rank 0 starts the send,
 * joins the allreduce and only then waits; rank 1 receives before it joins. A rank that waits in the library must let
 * the MPI's own messages move. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { BYTES = 8 << 20, COUNT = 1000, ROUNDS = 6 };

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size < 2)
        kit_skip("progress", "needs two ranks");
    char *message = malloc(BYTES);
    int mine[COUNT], want[COUNT];
    struct kit_buffer in, out, device;
    kit_open(&in, KIT_DEVICE, sizeof mine);
    kit_open(&out, KIT_DEVICE, sizeof mine);
    kit_open(&device, KIT_DEVICE, BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int from_device = round % 2, error = MPI_SUCCESS;
        for (int i = 0; i < COUNT; i++) {
            mine[i] = kit_rank + i + round;
            want[i] = kit_size * (kit_size - 1) / 2 + kit_size * (i + round);
        }
        if (kit_rank == 0) {
            memset(message, 'a' + round, BYTES);
            error = MPI_Isend(from_device ? kit_put(&device, 0, message, BYTES) : message, BYTES, MPI_BYTE, 1, round,
                              MPI_COMM_WORLD, &request);
        } else if (kit_rank == 1) {
            error = MPI_Recv(message, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(message[0] == 'a' + round && message[BYTES - 1] == 'a' + round, "the message of round %d", round);
        }
        CHECK(error == MPI_SUCCESS, "the message of round %d: class %d", round, kit_class(error));
        void *to = kit_put(&out, 0, NULL, sizeof mine);
        error = MPI_Allreduce(kit_put(&in, 0, mine, sizeof mine), to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out, NULL), want, sizeof want) == 0,
              "the allreduce of round %d: class %d", round, kit_class(error));
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the wait of round %d", round);
    }
    kit_close(&in);
    kit_close(&out);
    kit_close(&device);
    free(message);
    return kit_end("progress");
}
