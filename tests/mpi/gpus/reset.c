/* Collectives of communicators that were made before a GPU is reset: they are accelerated in its new life too, blocking
 * and nonblocking ones. Ranks reset their GPUs alone and together, also a GPU that both use. usage: reset CALLS
 *   reductions  sums. Behind each nonblocking one a move of data is started, which finds the team opened again, also on
 *               another GPU than that of its buffers. At last a rank goes to another GPU
 *   shared      the same, with one GPU for all ranks
 *   moves       data movers alone. Needs rules that name rows of kernels
 *   led         the same, with one GPU for all ranks: what a rank has offered to its leader is void after a reset */
#include <stdio.h>
#include <string.h>

#include "gpu.h"
#include "kit.h"

enum { INTS = 5000, ROUNDS = 40, BLOCKING = 3, MOST = 4 };

static int data[INTS], came[INTS], all[MOST * INTS];

/* A move of `ints` integers of each rank. */
struct gather {
    MPI_Request request; /* null of a blocking one */
    int gpu, ints, *from, *to;
};

static void gather_start(struct gather *gather, MPI_Comm comm, int round, int gpu, int ints, int nonblocking)
{
    const size_t bytes = (size_t)ints * sizeof(int);
    *gather = (struct gather){MPI_REQUEST_NULL, gpu, ints, gpu_alloc(gpu, bytes), gpu_alloc(gpu, MOST * bytes)};
    for (int i = 0; i < ints; i++)
        all[i] = (i + round) * MOST + kit_rank;
    gpu_copy(gpu, gather->from, all, bytes);
    if (nonblocking)
        MPI_Iallgather(gather->from, ints, MPI_INT, gather->to, ints, MPI_INT, comm, &gather->request);
    else
        MPI_Allgather(gather->from, ints, MPI_INT, gather->to, ints, MPI_INT, comm);
}

static void gather_end(struct gather *gather, int round)
{
    const int ints = gather->ints;
    int wrong = 0;
    MPI_Wait(&gather->request, MPI_STATUS_IGNORE);
    gpu_copy(gather->gpu, all, gather->to, (size_t)kit_size * (size_t)ints * sizeof(int));
    for (int i = 0; i < kit_size * ints; i++)
        wrong += all[i] != (i % ints + round) * MOST + i / ints;
    CHECK(wrong == 0, "round %d, Allgather or Iallgather: %d of %d integers are wrong", round, wrong, kit_size * ints);
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
        gather_start(&gather, comm, round, moved, INTS, 1);
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

static void round_of_sums(MPI_Comm comm, int round, int gpu, int moved)
{
    int *memory = gpu_alloc(gpu, sizeof data), *result = gpu_alloc(gpu, sizeof data);
    for (int i = 0; i < BLOCKING; i++)
        sum_of(comm, round, memory, result, gpu, 0, gpu);
    sum_of(comm, round, memory, result, gpu, 1, moved);
    gpu_free(gpu, memory);
    gpu_free(gpu, result);
}

static void round_of_moves(MPI_Comm comm, int round, int gpu, int unused)
{
    enum { FEW = 700 };
    struct gather gather;
    (void)unused;
    for (int i = 0; i < 2 * BLOCKING; i++) {
        gather_start(&gather, comm, round, gpu, FEW, i % 2);
        gather_end(&gather, round);
    }
}

static const struct kind {
    const char *name;
    int shared;
    void (*round)(MPI_Comm comm, int round, int gpu, int moved);
    const char *blocking, *nonblocking, *outcome; /* rows of the counters */
    int each;                                     /* nonblocking calls of a round */
    int left; /* calls of each form that may go another way: the first, and one after each reset */
} kinds[] = {
    {"reductions", 0, round_of_sums, "MPI_Allreduce", "MPI_Iallreduce", "accelerated", 1, 0},
    {"shared", 1, round_of_sums, "MPI_Allreduce", "MPI_Iallreduce", "accelerated", 1, 0},
    {"moves", 0, round_of_moves, "MPI_Allgather", "MPI_Iallgather", "packets", BLOCKING, 0},
    {"led", 1, round_of_moves, "MPI_Allgather", "MPI_Iallgather", "packets", BLOCKING, 1 + ROUNDS / 3},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Rank 0 goes to another GPU, for good: only few calls go through host memory. */
static void go_elsewhere(const struct kind *kind, MPI_Comm comm, int before)
{
    const int gpu = kind->shared || gpu_count() < 3 || kit_rank > 0 ? before : gpu_count() - 1;
    const uint64_t first = kit_counted(kind->blocking, kind->outcome);
    gpu_set(gpu);
    for (int round = 0; round < ROUNDS; round++)
        kind->round(comm, round, gpu, round % 2 ? gpu : before);
    const uint64_t after = kit_counted(kind->blocking, kind->outcome) - first;
    CHECK(kit_plain || after == BLOCKING * ROUNDS, "%d of %d blocking calls: %s on another GPU", (int)after,
          BLOCKING * ROUNDS, kind->outcome);
}

/* Each call that went another way has the reason that is true. */
static void explained(const struct kind *kind, int resets)
{
    const char *const calls[] = {kind->blocking, kind->nonblocking};
    int after = 0, first = 0, staged = 0;
    for (int i = 0; i < 2; i++) {
        after += (int)kit_counted(calls[i], "first call after a reset");
        first += (int)kit_counted(calls[i], "first calls of a communicator");
        staged += (int)kit_counted(calls[i], "staged");
    }
    CHECK(kit_plain || (after > 0 && after <= 2 * resets && first <= 2 && staged == after + first),
          "%d calls were staged: %d after %d resets, %d as the first ones", staged, after, resets, first);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int k = 0, resets = 0;
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    while (k < KINDS && (argc < 2 || strcmp(argv[1], kinds[k].name) != 0))
        k++;
    if (k == KINDS) {
        fputs("usage: reset reductions|shared|moves|led\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const struct kind *kind = &kinds[k];
    const int gpu = kind->shared ? 0 : kit_rank % gpu_count();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    gpu_set(gpu);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        resets += round % 3 == 1;
        if (round % 3 == 1 && (kit_rank == round % kit_size || round % 4 == 1))
            gpu_reset(gpu);
        gpu_set(gpu);
        kind->round(comm, round, gpu, gpu);
    }
    const int blocking = (int)kit_counted(kind->blocking, kind->outcome),
              nonblocking = (int)kit_counted(kind->nonblocking, kind->outcome);
    CHECK(kit_plain || blocking >= BLOCKING * ROUNDS - kind->left, "%d of %d blocking calls: %s", blocking,
          BLOCKING * ROUNDS, kind->outcome);
    CHECK(kit_plain || nonblocking >= kind->each * ROUNDS - kind->left, "%d of %d nonblocking calls: %s", nonblocking,
          kind->each * ROUNDS, kind->outcome);
    if (kind->left)
        explained(kind, resets);
    if (kind->round == round_of_sums)
        go_elsewhere(kind, comm, gpu);
    MPI_Comm_free(&comm);
    return kit_end("reset");
}
