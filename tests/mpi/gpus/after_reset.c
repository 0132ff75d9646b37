/* A message that its sender has left, to a receiver that has reset its GPU: nothing is mapped there any more, so it
 * asks for the sender's memory again. Meanwhile the sender waits in a call that ends only when the receiver enters
 * it: the sender must answer out of that wait. Between other rounds the sender resets its GPU: what the receiver has
 * mapped of it is of no use then. The receiver's GPU is reset more often than a process may have GPUs. */
#include <string.h>

#include "gpu.h"
#include "kit.h"

enum { BYTES = 20000, ROUNDS = 100 };

static unsigned char data[BYTES], came[BYTES];

static void fill(int round)
{
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7 + round);
}

static void round_of(int round, int gpu)
{
    unsigned char *memory = gpu_alloc(gpu, BYTES);
    int one = 1, sum = 0;
    MPI_Request request;
    fill(round);
    if (kit_rank == 0) {
        gpu_copy(gpu, memory, data, BYTES);
        MPI_Send(memory, BYTES, MPI_BYTE, 1, round, MPI_COMM_WORLD);
    } else {
        MPI_Recv(memory, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gpu_copy(gpu, came, memory, BYTES);
        CHECK(memcmp(came, data, BYTES) == 0, "round %d: other bytes have come", round);
    }
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == kit_size, "round %d: the sum is %d", round, sum);
    gpu_free(gpu, memory);
}

int main(int argc, char **argv)
{
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    gpu_count();
    gpu_set(kit_rank);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (round > 0 && (kit_rank == 1 ? round % 5 == 0 : round % 25 == 22))
            gpu_reset(kit_rank);
        round_of(round, kit_rank);
    }
    return kit_end("after_reset");
}
