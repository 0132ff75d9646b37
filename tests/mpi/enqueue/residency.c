/* Kernels that wait for peers, many at once on one GPU: threads (MPI_THREAD_MULTIPLE) with a communicator each make
 * blocking reductions of device memory, of all sizes, at times that differ from rank to rank. They must never keep each
 * other from the GPU, beside any other work on it:
 *
 *   residency alone    nothing
 *   residency streams  two communicators whose streams another thread keeps full of calls
 *   residency full     kernels of the program that fill the GPU (CUDA)
 *   residency all      both, and nonblocking calls on two communicators more, begun in different orders
 *
 * With 2, 3 and 4 threads in turn. TUTTI_TEST_MOST: bytes of the largest call (67108864); TUTTI_TEST_ROUNDS (2);
 * TUTTI_TEST_SECONDS: ends then, since a deadlock takes long to be reported (100). The first error ends all ranks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "gpu_filler.h"
#include "queue.h"
#include "tutti/tutti.h"

enum { THREADS = 4, STREAMS = 2, SHIFT = 64, SMALL = 4096 };
static size_t most;     /* elements */
static atomic_int over; /* this rank's blocking calls */
static atomic_long calls;

/* Every contribution is a window of the same device memory, so that the same place differs from call to call. */
struct pair {
    MPI_Comm comm;
    int *in, *out; /* device */
    int salt;
};

static void give_up(const char *what, int error)
{
    fprintf(stderr, "rank %d: %s: class %d\n", kit_rank, what, kit_class(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int value(size_t i, int salt)
{
    return (int)(i % 1009) + salt;
}

static int *device_memory(size_t elements)
{
    void *memory = NULL;
    if (tutti_alloc(elements * sizeof(int), &memory) != 0)
        give_up("no device memory", MPI_ERR_NO_MEM);
    return memory;
}

static void pair_open(struct pair *pair, int salt, size_t elements)
{
    int *host = malloc((elements + SHIFT) * sizeof *host);
    pair->salt = salt;
    pair->in = device_memory(elements + SHIFT);
    pair->out = device_memory(elements);
    for (size_t i = 0; host && i < elements + SHIFT; i++)
        host[i] = (kit_rank + 1) * value(i, salt);
    if (!host || tutti_copy(pair->in, host, (elements + SHIFT) * sizeof *host) != 0)
        give_up("contents", MPI_ERR_OTHER);
    free(host);
}

static void pair_close(struct pair *pair)
{
    MPI_Comm_free(&pair->comm);
    CHECK(tutti_free(pair->in) == 0 && tutti_free(pair->out) == 0, "memory");
}

/* Compares n elements from `first` on with what the sum of the window at `shift` must be. */
static void compare(const struct pair *pair, size_t first, size_t n, size_t shift, const char *what)
{
    int *got = malloc((n + 1) * sizeof *got), all = kit_size * (kit_size + 1) / 2;
    if (!got || tutti_copy(got, pair->out + first, n * sizeof *got) != 0)
        give_up("fetching a result", MPI_ERR_OTHER);
    for (size_t i = 0; i < n; i++) {
        if (got[i] == all * value(first + i + shift, pair->salt))
            continue;
        CHECK(0, "%s: element %zu is %d, not %d", what, first + i, got[i], all * value(first + i + shift, pair->salt));
        give_up(what, MPI_ERR_OTHER);
    }
    free(got);
    CHECK(1, "%s", what);
}

/* All of some results; of the others both ends and a few places more, so that calls are most of the time. */
static void check(const struct pair *pair, size_t count, size_t shift, uint64_t *random, const char *what)
{
    if (count <= SMALL || random_next(random) % 8 == 0) {
        compare(pair, 0, count, shift, what);
        return;
    }
    compare(pair, 0, 256, shift, what);
    compare(pair, count - 256, 256, shift, what);
    for (int i = 0; i < 4; i++)
        compare(pair, random_next(random) % (count - 256), 256, shift, what);
}

/* 1 if the blocking calls of all ranks are over; collective, between threads of one kind. */
static int agreed(MPI_Comm comm)
{
    int mine = atomic_load(&over), all = 0;
    int error = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    if (error != MPI_SUCCESS)
        give_up("agreeing on the end", error);
    return all;
}

/* Device memory is that of the process's GPU in every thread. */
static void choose_gpu(void)
{
    if (tutti_gpu_count() > 0)
        tutti_gpu_set(kit_rank % tutti_gpu_count());
}

/* ---- blocking ---- */

static size_t size_of(int step)
{
    static const size_t odd[] = {5 << 20, 6 << 20};
    return (step < 2 ? odd[step] : (size_t)8 << (step - 2)) / sizeof(int);
}

static void *block(void *with)
{
    struct pair *pair = with;
    uint64_t own = kit_seed * 31 + (unsigned)kit_rank * 7 + (unsigned)pair->salt;
    long rounds = check_many("TUTTI_TEST_ROUNDS", 2);
    choose_gpu();
    for (long round = 0; round < rounds; round++) {
        for (int step = 0; step < 2 || size_of(step) <= most; step++) {
            size_t count = size_of(step), shift = (size_t)(round * 5 + step) % SHIFT;
            const long times = count <= most ? check_many("TUTTI_TEST_AGAIN", count <= SMALL ? 10 : 3) : 0;
            for (long again = 0; again < times; again++) {
                if (random_next(&own) % 4 == 0)
                    usleep((useconds_t)(random_next(&own) % 300));
                int error = MPI_Allreduce(pair->in + shift, pair->out, (int)count, MPI_INT, MPI_SUM, pair->comm);
                if (error != MPI_SUCCESS) {
                    fprintf(stderr, "rank %d, thread %d, %zu bytes\n", kit_rank, pair->salt, count * sizeof(int));
                    give_up("a blocking call", error);
                }
                atomic_fetch_add(&calls, 1);
                check(pair, count, shift, &own, "a blocking call");
                shift = (shift + 1) % SHIFT;
            }
        }
    }
    return NULL;
}

/* ---- in stream order ---- */

static struct {
    MPI_Comm agree;
    struct pair pair[STREAMS];
    MPIX_Stream mpix[STREAMS];
    void *stream[STREAMS];
    size_t most;
} stream;

struct window {
    size_t count, shift;
};

/* A batch of calls into both streams, in an order of this rank's own; the calls of one are alike on all ranks. */
static void put_batch(long batch, uint64_t *own, struct window last[STREAMS])
{
    enum { CALLS = 16 };
    int left[STREAMS] = {CALLS, CALLS};
    uint64_t drawn[STREAMS];
    for (int s = 0; s < STREAMS; s++)
        drawn[s] = kit_seed + (uint64_t)batch * 100 + (unsigned)s;
    while (left[0] + left[1] > 0) {
        int s = (int)(random_next(own) % STREAMS);
        if (left[s] == 0)
            continue;
        uint64_t kind = random_next(&drawn[s]);
        struct pair *pair = &stream.pair[s];
        size_t range = kind % 4 ? 64 : stream.most;
        last[s].count = 1 + (size_t)(random_next(&drawn[s]) % range);
        last[s].shift = (size_t)(random_next(&drawn[s]) % SHIFT);
        left[s]--;
        int error = MPIX_Allreduce_enqueue(pair->in + last[s].shift, pair->out, (int)last[s].count, MPI_INT, MPI_SUM,
                                           pair->comm);
        if (error != MPI_SUCCESS)
            give_up("a call in stream order", error);
        atomic_fetch_add(&calls, 1);
    }
}

static void *fill(void *unused)
{
    uint64_t own = kit_seed * 37 + (unsigned)kit_rank;
    struct window last[STREAMS];
    choose_gpu();
    for (long batch = 0; !agreed(stream.agree); batch++) {
        put_batch(batch, &own, last);
        if (batch % 4 != 3)
            continue;
        for (int s = 0; s < STREAMS; s++) {
            if (tutti_stream_sync(stream.stream[s]) != 0)
                give_up("a stream", MPI_ERR_OTHER);
            check(&stream.pair[s], last[s].count, last[s].shift, &own, "a call in stream order");
        }
    }
    for (int s = 0; s < STREAMS; s++)
        CHECK(tutti_stream_sync(stream.stream[s]) == 0, "a stream");
    return unused;
}

static void streams_open(void)
{
    stream.most = most < 1 << 20 ? most : 1 << 20;
    MPI_Comm_dup(MPI_COMM_WORLD, &stream.agree);
    for (int s = 0; s < STREAMS; s++) {
        pair_open(&stream.pair[s], 100 + s, stream.most);
        CHECK(tutti_stream_create(&stream.stream[s]) == 0, "a stream");
        int error = queue_name_stream(NULL, stream.stream[s], &stream.mpix[s]);
        if (error == MPI_SUCCESS)
            error = MPIX_Stream_comm_create(MPI_COMM_WORLD, stream.mpix[s], &stream.pair[s].comm);
        if (error != MPI_SUCCESS)
            give_up("a communicator with a stream", error);
        MPI_Comm_set_errhandler(stream.pair[s].comm, MPI_ERRORS_RETURN);
    }
}

static void streams_close(void)
{
    for (int s = 0; s < STREAMS; s++) {
        MPIX_Stream_free(&stream.mpix[s]);
        pair_close(&stream.pair[s]);
        CHECK(tutti_stream_destroy(stream.stream[s]) == 0, "a stream");
    }
    MPI_Comm_free(&stream.agree);
}

/* ---- nonblocking ---- */

static struct {
    MPI_Comm agree;
    struct pair pair[2];
} begun;

static void *begin(void *unused)
{
    uint64_t own = kit_seed * 41 + (unsigned)kit_rank, drawn = kit_seed * 43;
    choose_gpu();
    for (long i = 0; !agreed(begun.agree); i++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        size_t count[2], shift = (size_t)i % SHIFT, range = i % 4 ? 1000 : stream.most;
        for (int c = 0; c < 2; c++)
            count[c] = 1 + (size_t)(random_next(&drawn) % range);
        int first = (int)(random_next(&own) % 2), error = MPI_SUCCESS;
        for (int turn = 0; turn < 2 && error == MPI_SUCCESS; turn++) {
            int c = turn ^ first;
            error = MPI_Iallreduce(begun.pair[c].in + shift, begun.pair[c].out, (int)count[c], MPI_INT, MPI_SUM,
                                   begun.pair[c].comm, &requests[c]);
        }
        if (error == MPI_SUCCESS)
            error = MPI_Waitall(2, requests, statuses);
        if (error != MPI_SUCCESS)
            give_up("a nonblocking call", error);
        atomic_fetch_add(&calls, 2);
        for (int c = 0; c < 2; c++)
            check(&begun.pair[c], count[c], shift, &own, "a nonblocking call");
    }
    return unused;
}

static void begun_open(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &begun.agree);
    for (int c = 0; c < 2; c++) {
        pair_open(&begun.pair[c], 200 + c, stream.most);
        MPI_Comm_dup(MPI_COMM_WORLD, &begun.pair[c].comm);
        MPI_Comm_set_errhandler(begun.pair[c].comm, MPI_ERRORS_RETURN);
    }
}

static void begun_close(void)
{
    for (int c = 0; c < 2; c++)
        pair_close(&begun.pair[c]);
    MPI_Comm_free(&begun.agree);
}

/* ---- kernels of the program ---- */

static void *crowd(void *unused)
{
    void *streams[2];
    uint64_t own = kit_seed * 47 + (unsigned)kit_rank;
    choose_gpu();
    for (int s = 0; s < 2; s++)
        CHECK(tutti_stream_create(&streams[s]) == 0, "a stream");
    while (!atomic_load(&over)) {
        for (int i = 0; i < 8; i++) {
            int error = gpu_filler_put(streams[i % 2], random_next(&own) % 100000); /* to some 60 us a wave of blocks */
            if (!CHECK(error == 0, "a kernel of the program: CUDA error %d", error))
                return unused;
        }
        for (int s = 0; s < 2; s++)
            CHECK(tutti_stream_sync(streams[s]) == 0, "a stream");
    }
    for (int s = 0; s < 2; s++)
        CHECK(tutti_stream_destroy(streams[s]) == 0, "a stream");
    return unused;
}

/* ---- all of it ---- */

enum { BESIDE_STREAMS = 1, BESIDE_CROWD = 2, BESIDE_BEGUN = 4, HELPERS = 3 };

/* The first calls open what a communicator needs: that several threads do so at once is not what is tested here. */
static void open_both(struct pair *pair)
{
    MPI_Request request;
    int error = MPI_Allreduce(pair->in, pair->out, 1, MPI_INT, MPI_SUM, pair->comm);
    if (error == MPI_SUCCESS)
        error = MPI_Iallreduce(pair->in, pair->out, 1, MPI_INT, MPI_SUM, pair->comm, &request);
    if (error == MPI_SUCCESS)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS)
        give_up("a first call", error);
}

static void turn(int threads, int beside)
{
    static void *(*const helpers[HELPERS])(void *) = {fill, crowd, begin};
    struct pair pair[THREADS];
    pthread_t blocking[THREADS], helping[HELPERS];
    uint64_t start = tutti_now_ns();
    atomic_store(&over, 0);
    atomic_store(&calls, 0);
    if (beside & BESIDE_STREAMS)
        streams_open();
    if (beside & BESIDE_BEGUN)
        begun_open();
    for (int t = 0; t < threads; t++) {
        pair_open(&pair[t], t, most);
        MPI_Comm_dup(MPI_COMM_WORLD, &pair[t].comm);
        MPI_Comm_set_errhandler(pair[t].comm, MPI_ERRORS_RETURN);
        open_both(&pair[t]);
    }
    for (int c = 0; c < 2 && beside & BESIDE_BEGUN; c++)
        open_both(&begun.pair[c]);
    for (int h = 0; h < HELPERS; h++) {
        if (beside >> h & 1)
            pthread_create(&helping[h], NULL, helpers[h], NULL);
    }
    for (int t = 0; t < threads; t++)
        pthread_create(&blocking[t], NULL, block, &pair[t]);
    for (int t = 0; t < threads; t++)
        pthread_join(blocking[t], NULL);
    atomic_store(&over, 1);
    for (int h = 0; h < HELPERS; h++) {
        if (beside >> h & 1)
            pthread_join(helping[h], NULL);
    }
    for (int t = 0; t < threads; t++)
        pair_close(&pair[t]);
    if (beside & BESIDE_BEGUN)
        begun_close();
    if (beside & BESIDE_STREAMS)
        streams_close();
    if (kit_rank == 0)
        printf("%d threads: %ld calls in %.1f s\n", threads, atomic_load(&calls),
               (double)(tutti_now_ns() - start) / 1e9);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "alone";
    alarm((unsigned)check_setting("TUTTI_TEST_SECONDS", 100));
    if (kit_start(&argc, &argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE)
        kit_skip("residency", "this MPI has no MPI_THREAD_MULTIPLE");
    most = (size_t)check_setting("TUTTI_TEST_MOST", 64 << 20) / sizeof(int);
    stream.most = most < 1 << 20 ? most : 1 << 20;
    int beside = 0, full = 0;
    if (strcmp(what, "streams") == 0 || strcmp(what, "all") == 0)
        beside = BESIDE_STREAMS;
    if (strcmp(what, "all") == 0)
        beside |= BESIDE_BEGUN;
    if (kit_plain || ((beside & BESIDE_STREAMS) && !queue_possible()))
        kit_skip("residency", "needs a device with streams");
    if (strcmp(what, "full") == 0 || strcmp(what, "all") == 0)
        full = gpu_filler_open();
    if (strcmp(what, "full") == 0 && !full)
        kit_skip("residency", "needs a CUDA GPU");
    beside |= full ? BESIDE_CROWD : 0;
    for (int threads = 2; threads <= THREADS; threads++)
        turn(threads, beside);
    return kit_end("residency");
}
