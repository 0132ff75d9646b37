/* Reductions of communicators that were made before a GPU is reset: they are accelerated in its new life too, blocking
 * and nonblocking ones. Behind each nonblocking one a move of data is started, which finds the team opened again, also
 * on another GPU than that of its buffers. Ranks reset their GPUs alone and together, also a GPU that both use, and go
 * to other GPUs. With an argument: one GPU for both ranks. usage: reset_reductions [shared] */
#include <string.h>

#include "gpu.h"
#include "kit.h"

enum { INTS = 5000, ROUNDS = 40, BLOCKING = 3, MOST = 4 };

static int data[INTS], came[INTS], all[MOST * INTS];

/* A move that has been started behind a reduction. */
struct gather {
    MPI_Request request;
    int gpu, *from, *to;
};

static void gather_start(struct gather *gather, MPI_Comm comm, int round, int gpu)
{
    gather->gpu = gpu;
    gather->from = gpu_alloc(gpu, sizeof data);
    gather->to = gpu_alloc(gpu, sizeof all);
    for (int i = 0; i < INTS; i++)
        all[i] = (i + round) * MOST + kit_rank;
    gpu_copy(gpu, gather->from, all, sizeof data);
    MPI_Iallgather(gather->from, INTS, MPI_INT, gather->to, INTS, MPI_INT, comm, &gather->request);
}

static void gather_end(struct gather *gather, int round)
{
    int wrong = 0;
    MPI_Wait(&gather->request, MPI_STATUS_IGNORE);
    gpu_copy(gather->gpu, all, gather->to, (size_t)kit_size * sizeof data);
    for (int i = 0; i < kit_size * INTS; i++)
        wrong += all[i] != (i % INTS + round) * MOST + i / INTS;
    CHECK(wrong == 0, "round %d, Iallgather: %d of %d integers are wrong", round, wrong, kit_size * INTS);
    gpu_free(gather->gpu, gather->from);
    gpu_free(gather->gpu, gather->to);
}

/* moved: of a nonblocking one the GPU with the buffers of the move behind it. */
static void sum_of(MPI_Comm comm, int round, int *memory, int *result, int gpu, int nonblocking, int moved)
{
    MPI_Request request;
    struct gather gather;
    for (int i = 0; i < INTS; i++)
        data[i] = i + round + kit_rank;
    gpu_copy(gpu, memory, data, sizeof data);
    if (nonblocking) {
        MPI_Iallreduce(memory, result, INTS, MPI_INT, MPI_SUM, comm, &request);
        gather_start(&gather, comm, round, moved);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        gather_end(&gather, round);
    } else {
        MPI_Allreduce(memory, result, INTS, MPI_INT, MPI_SUM, comm);
    }
    gpu_copy(gpu, came, result, sizeof came);
    int wrong = 0;
    for (int i = 0; i < INTS; i++)
        wrong += came[i] != kit_size * (i + round) + kit_size * (kit_size - 1) / 2;
    CHECK(wrong == 0, "round %d, %s: %d of %d sums are wrong", round, nonblocking ? "Iallreduce" : "Allreduce", wrong,
          INTS);
}

static void round_of(MPI_Comm comm, int round, int gpu, int moved)
{
    int *memory = gpu_alloc(gpu, sizeof data), *result = gpu_alloc(gpu, sizeof data);
    for (int i = 0; i < BLOCKING; i++)
        sum_of(comm, round, memory, result, gpu, 0, gpu);
    sum_of(comm, round, memory, result, gpu, 1, moved);
    gpu_free(gpu, memory);
    gpu_free(gpu, result);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int shared = argc > 1 && strcmp(argv[1], "shared") == 0;
    int gpu = shared ? 0 : kit_rank % gpu_count();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    gpu_set(gpu);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (round % 3 == 1 && (kit_rank == round % kit_size || round % 4 == 1))
            gpu_reset(gpu);
        gpu_set(gpu);
        round_of(comm, round, gpu, gpu);
    }
    const uint64_t blocking = kit_counted("MPI_Allreduce", "accelerated"),
                   nonblocking = kit_counted("MPI_Iallreduce", "accelerated");
    CHECK(kit_plain || blocking == BLOCKING * ROUNDS, "%d of %d blocking calls were accelerated", (int)blocking,
          BLOCKING * ROUNDS);
    CHECK(kit_plain || nonblocking == ROUNDS, "%d of %d nonblocking calls were accelerated", (int)nonblocking, ROUNDS);
    /* Rank 0 goes to another GPU, for good: only few calls go through host memory. */
    const int before = gpu;
    gpu = shared || gpu_count() < 3 || kit_rank > 0 ? gpu : gpu_count() - 1;
    gpu_set(gpu);
    for (int round = 0; round < ROUNDS; round++)
        round_of(comm, round, gpu, round % 2 ? gpu : before);
    const uint64_t after = kit_counted("MPI_Allreduce", "accelerated");
    CHECK(kit_plain || after == 2 * blocking, "%d of %d blocking calls were accelerated on another GPU",
          (int)(after - blocking), BLOCKING * ROUNDS);
    MPI_Comm_free(&comm);
    return kit_end("reset_reductions");
}
