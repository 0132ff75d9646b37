/* Data movers alone, of communicators that were made before a GPU is reset: their kernels run in its new life too,
 * blocking and nonblocking. Ranks reset their GPUs alone and together. Needs rules that name rows of kernels.
 * usage: reset_moves */
#include "gpu.h"
#include "kit.h"

enum { INTS = 700, ROUNDS = 30, CALLS = 3, MOST = 4 };

static int data[INTS], all[MOST * INTS];

static void gather(MPI_Comm comm, int round, int gpu, int nonblocking)
{
    MPI_Request request;
    int wrong = 0, *from = gpu_alloc(gpu, sizeof data), *to = gpu_alloc(gpu, sizeof all);
    for (int i = 0; i < INTS; i++)
        data[i] = (i + round) * MOST + kit_rank;
    gpu_copy(gpu, from, data, sizeof data);
    if (nonblocking) {
        MPI_Iallgather(from, INTS, MPI_INT, to, INTS, MPI_INT, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Allgather(from, INTS, MPI_INT, to, INTS, MPI_INT, comm);
    }
    gpu_copy(gpu, all, to, (size_t)kit_size * sizeof data);
    for (int i = 0; i < kit_size * INTS; i++)
        wrong += all[i] != (i % INTS + round) * MOST + i / INTS;
    CHECK(wrong == 0, "round %d, %s: %d of %d integers are wrong", round, nonblocking ? "Iallgather" : "Allgather",
          wrong, kit_size * INTS);
    gpu_free(gpu, from);
    gpu_free(gpu, to);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int gpu = kit_rank % gpu_count();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    gpu_set(gpu);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (round % 3 == 1 && (kit_rank == round % kit_size || round % 4 == 1))
            gpu_reset(gpu);
        gpu_set(gpu);
        for (int i = 0; i < CALLS; i++) {
            gather(comm, round, gpu, 0);
            gather(comm, round, gpu, 1);
        }
    }
    const uint64_t blocking = kit_counted("MPI_Allgather", "packets"),
                   nonblocking = kit_counted("MPI_Iallgather", "packets");
    CHECK(kit_plain || blocking == CALLS * ROUNDS, "%d of %d blocking calls went in packets", (int)blocking,
          CALLS * ROUNDS);
    CHECK(kit_plain || nonblocking == CALLS * ROUNDS, "%d of %d nonblocking calls went in packets", (int)nonblocking,
          CALLS * ROUNDS);
    MPI_Comm_free(&comm);
    return kit_end("reset_moves");
}
