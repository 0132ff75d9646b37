/* Symmetric objects in calls of the MPI, beside calls of the address space: heaps of any kind are memory for
 * both. With TUTTI_SHMEM_HEAP=device reductions of objects must have been made by kernels. */
#include "mpi/kit/kit.h"
#include "shmem/kit.h"

enum { ROUNDS = 60, LONGS = 40000, BLOCKS = 50 };

static uint64_t *a, *b, *beside; /* symmetric */
static uint64_t *one, *two;      /* of the host */
static int me, pes, next, before;

static uint64_t word_of(uint64_t round, int pe, size_t i)
{
    return shmem_draw(round, (uint64_t)pe, i);
}

static void fill(uint64_t *to, uint64_t round, int pe, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = word_of(round, pe, i);
}

/* The number of longs of a round: none, few, what goes eagerly, what does not. */
static size_t length(uint64_t round)
{
    static const size_t most[] = {4, 300, 5000, LONGS};
    const uint64_t d = shmem_draw(round, 77, 0);
    return d / 16 % (most[d % 4] + 1);
}

/* From and into an object on some ranks, host memory on others. */
static void allreduce(uint64_t round, size_t n)
{
    const int mixed = shmem_draw(round, 77, 1) % 2 != 0;
    const int host = mixed && shmem_draw(round, 77, 2 + (uint64_t)me) % 2 != 0;
    fill(one, round, me, n);
    shmem_store(a, one, n * sizeof *a);
    MPI_Allreduce(host ? one : a, host ? two : b, (int)n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (!host)
        shmem_load(two, b, n * sizeof *b);
    size_t at = 0;
    for (uint64_t sum = 0; at < n; at++, sum = 0) {
        for (int pe = 0; pe < pes; pe++)
            sum += word_of(round, pe, at);
        if (two[at] != sum)
            break;
    }
    CHECK(at == n, "round %llu: MPI_Allreduce of %zu longs%s: element %zu", (unsigned long long)round, n,
          mixed ? ", host memory on some ranks" : "", at);
}

/* What the previous PE puts here goes on to the next one by a message, while others are put beside it. */
static void ring(uint64_t round, size_t n)
{
    MPI_Request request;
    fill(one, round, before, n);
    fill(two, round, me, n);
    tshmem_barrier_all(); /* a is the last call's on the next PE until that has returned there */
    tshmem_put(a, two, n, next);
    tshmem_barrier_all();
    MPI_Irecv(b, (int)n, MPI_UINT64_T, before, 5, MPI_COMM_WORLD, &request);
    tshmem_put_nbi(beside, two, n, before);
    MPI_Send(a, (int)n, MPI_UINT64_T, next, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tshmem_barrier_all();
    CHECK(shmem_holds(a, one, n * sizeof *a), "round %llu: put of %zu longs", (unsigned long long)round, n);
    fill(one, round, (before + pes - 1) % pes, n);
    CHECK(shmem_holds(b, one, n * sizeof *b), "round %llu: MPI_Send of %zu longs that were put",
          (unsigned long long)round, n);
    fill(one, round, next, n);
    CHECK(shmem_holds(beside, one, n * sizeof *b), "round %llu: put of %zu longs beside a message",
          (unsigned long long)round, n);
}

/* Every second block of the heap of one PE into every third one of the next one's. */
static void blocks(uint64_t round)
{
    const int length = (int)(shmem_draw(round, 77, 3) % 30) + 1;
    MPI_Datatype from, to;
    MPI_Type_vector(BLOCKS, length, 2 * length, MPI_UINT64_T, &from);
    MPI_Type_vector(BLOCKS, length, 3 * length, MPI_UINT64_T, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    fill(one, round, me, LONGS);
    shmem_store(a, one, (size_t)(BLOCKS * 2 * length) * sizeof *a);
    memset(two, 0x11, LONGS * sizeof *two);
    shmem_store(b, two, (size_t)(BLOCKS * 3 * length) * sizeof *b);
    MPI_Sendrecv(a, 1, from, next, 6, b, 1, to, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < BLOCKS * length; i++)
        two[i / length * 3 * length + i % length] =
            word_of(round, before, (size_t)(i / length * 2 * length + i % length));
    CHECK(shmem_holds(b, two, (size_t)(BLOCKS * 3 * length) * sizeof *b), "round %llu: blocks of %d longs",
          (unsigned long long)round, length);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

static void moves(uint64_t round, size_t n)
{
    const int root = (int)(round % (uint64_t)pes);
    const size_t each = n / (size_t)pes;
    fill(one, round, me, n);
    shmem_store(a, one, n * sizeof *a);
    MPI_Alltoall(a, (int)each, MPI_UINT64_T, b, (int)each, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int pe = 0; pe < pes; pe++) {
        for (size_t i = 0; i < each; i++)
            two[(size_t)pe * each + i] = word_of(round, pe, (size_t)me * each + i);
    }
    CHECK(shmem_holds(b, two, each * (size_t)pes * sizeof *b), "round %llu: MPI_Alltoall of %zu longs",
          (unsigned long long)round, each);
    MPI_Bcast(a, (int)n, MPI_UINT64_T, root, MPI_COMM_WORLD);
    fill(one, round, root, n);
    CHECK(shmem_holds(a, one, n * sizeof *a), "round %llu: MPI_Bcast of %zu longs", (unsigned long long)round, n);
}

/* A peer's part, as it is mapped here, is memory as well. */
static void of_a_peer(uint64_t round, size_t n)
{
    const uint64_t *theirs = tshmem_ptr(a, next);
    if (!theirs)
        return;
    fill(one, round, me, n);
    shmem_store(a, one, n * sizeof *a);
    tshmem_barrier_all();
    MPI_Sendrecv(theirs, (int)n, MPI_UINT64_T, before, 7, b, (int)n, MPI_UINT64_T, next, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    fill(two, round, (next + 1) % pes, n); /* the next PE sends what lies at the one after it */
    CHECK(shmem_holds(b, two, n * sizeof *b), "round %llu: MPI_Send of %zu longs of a peer", (unsigned long long)round,
          n);
    tshmem_barrier_all();
}

int main(int argc, char **argv)
{
    const char *expect = getenv("TUTTI_TEST_EXPECT");
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (CHECK(tshmem_init() == 0, "tshmem_init")) {
        me = tshmem_my_pe();
        pes = tshmem_n_pes();
        next = (me + 1) % pes;
        before = (me + pes - 1) % pes;
        shmem_fill_heap(); /* a may lie over a seam */
        a = tshmem_malloc(LONGS * sizeof *a);
        b = tshmem_malloc(LONGS * sizeof *b);
        beside = tshmem_malloc(LONGS * sizeof *beside);
        one = malloc(LONGS * sizeof *one);
        two = malloc(LONGS * sizeof *two);
        CHECK(tutti_is_device(a) == (expect != NULL), "where the heap lies");
        for (uint64_t round = 0; round < ROUNDS && check_failed() == 0; round++) {
            const uint64_t key = check_seed() + round;
            const size_t n = length(key);
            allreduce(key, n);
            ring(key, n);
            blocks(key);
            moves(key, n);
            of_a_peer(key, n);
        }
        CHECK(!expect || kit_counted("MPI_Allreduce", expect) > 0, "no MPI_Allreduce was %s", expect);
        CHECK(tshmem_error() == 0, "an error is left over");
        CHECK(tshmem_finalize() == 0, "tshmem_finalize");
        free(one);
        free(two);
    }
    return kit_end("shmem objects");
}
