/* What calls on host memory ask the GPU's driver once the process has met a GPU, over a pretended driver that counts
 * its calls: nothing about the stack, and in each call one question about each other buffer, since the program may have
 * freed the buffer and got memory of another kind there. Two ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_libcuda.h"
#include "support/check.h"
#include "tutti/tutti.h"

enum { WORDS = 8, N = 4, REPEATS = 3, ROOT = 1 };

/* The two buffers of a rank; a rank sends 10 * rank + i in word i. */
struct buffers {
    int *in, *out, rank, other;
};
static int sent(int rank, int i)
{
    return 10 * rank + i;
}
static int is_sum(const struct buffers *b, int first, int n)
{
    int right = 1;
    for (int i = 0; i < n; i++)
        right &= b->out[i] == sent(0, first + i) + sent(1, first + i);
    return right;
}
static int is_from(const struct buffers *b, int at, int rank, int first, int n)
{
    int right = 1;
    for (int i = 0; i < n; i++)
        right &= b->out[at + i] == sent(rank, first + i);
    return right;
}

/* Each makes a call, and returns whether its data are right. */
static int allreduce(const struct buffers *b)
{
    MPI_Allreduce(b->in, b->out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return is_sum(b, 0, N);
}
static int allreduce_in_place(const struct buffers *b)
{
    for (int i = 0; i < N; i++)
        b->out[i] = sent(b->rank, i);
    MPI_Allreduce(MPI_IN_PLACE, b->out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return is_sum(b, 0, N);
}
static int iallreduce(const struct buffers *b)
{
    MPI_Request request;
    MPI_Iallreduce(b->in, b->out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return is_sum(b, 0, N);
}
static int reduce(const struct buffers *b)
{
    MPI_Reduce(b->in, b->out, N, MPI_INT, MPI_SUM, ROOT, MPI_COMM_WORLD);
    return b->rank != ROOT || is_sum(b, 0, N);
}
static int reduce_scatter(const struct buffers *b)
{
    MPI_Reduce_scatter_block(b->in, b->out, N / 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return is_sum(b, b->rank * N / 2, N / 2);
}
static int bcast(const struct buffers *b)
{
    for (int i = 0; i < N; i++)
        b->out[i] = sent(b->rank, i);
    MPI_Bcast(b->out, N, MPI_INT, ROOT, MPI_COMM_WORLD);
    return is_from(b, 0, ROOT, 0, N);
}
static int allgather(const struct buffers *b)
{
    MPI_Allgather(b->in, N, MPI_INT, b->out, N, MPI_INT, MPI_COMM_WORLD);
    return is_from(b, 0, 0, 0, N) && is_from(b, N, 1, 0, N);
}
static int alltoall(const struct buffers *b)
{
    MPI_Alltoall(b->in, N, MPI_INT, b->out, N, MPI_INT, MPI_COMM_WORLD);
    return is_from(b, 0, 0, b->rank * N, N) && is_from(b, N, 1, b->rank * N, N);
}
static int gather(const struct buffers *b)
{
    MPI_Gather(b->in, N, MPI_INT, b->out, N, MPI_INT, ROOT, MPI_COMM_WORLD);
    return b->rank != ROOT || (is_from(b, 0, 0, 0, N) && is_from(b, N, 1, 0, N));
}
static int ibcast(const struct buffers *b)
{
    MPI_Request request;
    for (int i = 0; i < N; i++)
        b->out[i] = sent(b->rank, i);
    MPI_Ibcast(b->out, N, MPI_INT, ROOT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return is_from(b, 0, ROOT, 0, N);
}
static int igather(const struct buffers *b)
{
    MPI_Request request;
    MPI_Igather(b->in, N, MPI_INT, b->out, N, MPI_INT, ROOT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return b->rank != ROOT || (is_from(b, 0, 0, 0, N) && is_from(b, N, 1, 0, N));
}
static int scatter(const struct buffers *b)
{
    MPI_Scatter(b->in, N, MPI_INT, b->out, N, MPI_INT, ROOT, MPI_COMM_WORLD);
    return is_from(b, 0, ROOT, b->rank * N, N);
}
static int sendrecv(const struct buffers *b)
{
    MPI_Sendrecv(b->in, N, MPI_INT, b->other, 0, b->out, N, MPI_INT, b->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return is_from(b, 0, b->other, 0, N);
}

enum { NEITHER, IN, OUT, BOTH };

/* Buffers that are asked about: by the root, and by the other rank, which uses one buffer of MPI_Gather and
 * MPI_Scatter. */
static const struct {
    const char *name;
    int (*make)(const struct buffers *);
    unsigned root, others;
} calls[] = {{"MPI_Allreduce", allreduce, BOTH, BOTH},
             {"MPI_Allreduce in place", allreduce_in_place, OUT, OUT},
             {"MPI_Iallreduce", iallreduce, BOTH, BOTH},
             {"MPI_Reduce", reduce, BOTH, BOTH},
             {"MPI_Reduce_scatter_block", reduce_scatter, BOTH, BOTH},
             {"MPI_Bcast", bcast, OUT, OUT},
             {"MPI_Ibcast", ibcast, OUT, OUT},
             {"MPI_Igather", igather, BOTH, IN},
             {"MPI_Allgather", allgather, BOTH, BOTH},
             {"MPI_Alltoall", alltoall, BOTH, BOTH},
             {"MPI_Gather", gather, BOTH, IN},
             {"MPI_Scatter", scatter, BOTH, OUT},
             {"MPI_Sendrecv", sendrecv, BOTH, BOTH}};

/* on_stack: buffers that need no question. */
static void all_calls(const struct fake_control *fake, const struct buffers *b, const char *where, unsigned on_stack)
{
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        const unsigned asked = (b->rank == ROOT ? calls[c].root : calls[c].others) & ~on_stack;
        const unsigned long most = (unsigned long)__builtin_popcount(asked);
        for (int i = 0; i < REPEATS; i++) {
            for (int w = 0; w < WORDS; w++) {
                b->in[w] = sent(b->rank, w);
                b->out[w] = -1;
            }
            const unsigned long before = fake->queries, called = fake->calls;
            CHECK(calls[c].make(b), "%s, %s: other data", calls[c].name, where);
            CHECK(fake->queries - before <= most && fake->calls - called == fake->queries - before,
                  "%s, %s: %lu questions, %lu calls of the driver", calls[c].name, where, fake->queries - before,
                  fake->calls - called);
        }
    }
}

/* Addresses whose memory changes its kind between calls. */
static void changed(int rank)
{
    enum { LONG = 1 << 20, ROUNDS = 8 };
    int same = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int got[N], want[N], *host = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        const uintptr_t was = (uintptr_t)host;
        void *device = NULL;
        for (int w = 0; w < N && host != MAP_FAILED; w++)
            host[w] = got[w] = sent(rank, w);
        MPI_Allreduce(MPI_IN_PLACE, host, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        memcpy(want, host, sizeof want);
        munmap(host, LONG);
        CHECK(tutti_alloc(LONG, &device) == 0 && tutti_copy(device, got, sizeof got) == 0, "no memory");
        MPI_Allreduce(MPI_IN_PLACE, device, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(tutti_copy(got, device, sizeof got) == 0 && memcmp(got, want, sizeof got) == 0, "other data");
        CHECK(got[0] == sent(0, 0) + sent(1, 0), "wrong data");
        same += (uintptr_t)device == was;
        CHECK(tutti_free(device) == 0, "not freed");
    }
    CHECK(same > 0, "no address was given out again");
}

int main(int argc, char **argv)
{
    int rank, stack[2][WORDS];
    int *const heap = calloc(WORDS, sizeof *heap);
    void *met = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_rank(rank);
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    struct fake_control *const fake = library ? fake_of(library) : NULL;
    CHECK(fake && heap && tutti_alloc(sizeof stack, &met) == 0, "no pretended driver, or no memory");
    if (fake && heap && met) {
        MPI_Allreduce(MPI_IN_PLACE, met, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* the process meets its GPU */
        int *const pinned[] = {fake->make(0, FAKE_PINNED, sizeof stack[0]),
                               fake->make(0, FAKE_PINNED, sizeof stack[0])};
        all_calls(fake, &(struct buffers){stack[0], stack[1], rank, !rank}, "on the stack", BOTH);
        all_calls(fake, &(struct buffers){pinned[0], stack[1], rank, !rank}, "pinned memory, stack", OUT);
        all_calls(fake, &(struct buffers){pinned[0], heap, rank, !rank}, "pinned and ordinary memory", NEITHER);
        all_calls(fake, &(struct buffers){heap, pinned[0], rank, !rank}, "ordinary and pinned memory", NEITHER);
        all_calls(fake, &(struct buffers){pinned[0], pinned[1], rank, !rank}, "pinned memory", NEITHER);
        changed(rank);
    }
    CHECK(tutti_free(met) == 0, "not freed");
    free(heap);
    MPI_Finalize();
    printf("host_questions: rank %d, %ld checks, %ld failed\n", rank, check_done(), check_failed());
    return check_failed() != 0;
}
