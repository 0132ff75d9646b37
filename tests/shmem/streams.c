/* Puts, gets and signals in the order of a stream of the program: data come before their signals, and after what the
 * stream did before. */
#include "shmem/kit.h"

enum { LONGS = 3000, TIMES = 60, LARGE = 300000 };

static uint64_t *box, *other, *signals; /* symmetric */
static uint64_t numbers[LONGS], seen[LONGS], expected[LONGS];
static void *device, *stream;

static void count(uint64_t *to, uint64_t first)
{
    for (size_t i = 0; i < LONGS; i++)
        to[i] = first + i;
}

/* What the stream copies into memory of the GPU is put from there to the next PE, with a signal; the answer is a signal
 * too. */
static void in_order(int me, int pes)
{
    const int next = (me + 1) % pes, before = (me + pes - 1) % pes;
    for (uint64_t t = 1; t <= TIMES; t++) {
        count(numbers, t * 10000 + (uint64_t)me);
        CHECK(tutti_stream_copy(stream, device, numbers, sizeof numbers) == 0, "copy");
        CHECK(tshmem_putmem_signal_on_stream(box, device, sizeof numbers, signals, 1, TSHMEM_SIGNAL_ADD, next,
                                             stream) == 0,
              "put with a signal");
        CHECK(tshmem_signal_wait_until(signals, TSHMEM_CMP_GE, t) == t, "one signal a time");
        count(expected, t * 10000 + (uint64_t)before);
        CHECK(shmem_holds(box, expected, sizeof expected), "what was put before signal %llu", (unsigned long long)t);
        CHECK(tshmem_signal_op_on_stream(signals + 1, t, TSHMEM_SIGNAL_SET, before, stream) == 0, "signal");
        CHECK(tshmem_signal_wait_until(signals + 1, TSHMEM_CMP_EQ, t) == t, "it may put again");
        CHECK(tutti_stream_sync(stream) == 0, "its numbers are free");
    }
}

/* Put, got back in the same stream, and copied to the host there. */
static void there_and_back(int me, int pes)
{
    const int next = (me + 1) % pes;
    for (uint64_t t = 1; t <= TIMES; t++) {
        count(numbers, t * 777 + (uint64_t)me);
        memset(seen, 0, sizeof seen);
        CHECK(tshmem_putmem_on_stream(other, numbers, sizeof numbers, next, stream) == 0, "put");
        CHECK(tshmem_getmem_on_stream(device, other, sizeof numbers, next, stream) == 0, "get");
        CHECK(tutti_stream_copy(stream, seen, device, sizeof seen) == 0 && tutti_stream_sync(stream) == 0, "copy");
        CHECK(memcmp(seen, numbers, sizeof seen) == 0, "time %llu", (unsigned long long)t);
    }
    tshmem_barrier_all();
}

/* What the host has begun, the stream's quiet waits for: afterwards the stream may store over the source. */
static void begun_by_the_host(int me, int pes)
{
    const int next = (me + 1) % pes, before = (me + pes - 1) % pes;
    uint64_t *const large = tshmem_malloc(LARGE * sizeof *large), *const here = malloc(LARGE * sizeof *here);
    uint64_t *const zeros = calloc(LARGE, sizeof *zeros);
    void *source = NULL;
    CHECK(large && here && zeros && tutti_alloc(LARGE * sizeof *here, &source) == 0, "memory");
    for (uint64_t t = 0; t < 4; t++) {
        shmem_fill(here, LARGE * sizeof *here, shmem_draw(t, (uint64_t)me, 1));
        CHECK(tutti_copy(source, here, LARGE * sizeof *here) == 0, "copy");
        tshmem_putmem_nbi(large, source, LARGE * sizeof *large, next);
        CHECK(tshmem_quiet_on_stream(stream) == 0, "quiet");
        CHECK(tutti_stream_copy(stream, source, zeros, LARGE * sizeof *zeros) == 0, "copy");
        CHECK(tutti_stream_sync(stream) == 0, "sync");
        tshmem_barrier_all();
        shmem_fill(here, LARGE * sizeof *here, shmem_draw(t, (uint64_t)before, 1));
        CHECK(shmem_holds(large, here, LARGE * sizeof *here), "time %llu", (unsigned long long)t);
        tshmem_barrier_all();
    }
    tutti_free(source);
    free(zeros);
    free(here);
    tshmem_free(large);
}

/* What a stream that has come so far has begun is complete past a barrier of the host, or quiet, of a context too. */
static void begun_by_the_stream(int me, int pes)
{
    const int next = (me + 1) % pes;
    for (uint64_t t = 1; t <= 5 * TIMES; t++) {
        uint64_t came = 0;
        CHECK(tshmem_uint64_p_on_stream(other, t, next, stream) == 0, "p");
        CHECK(tshmem_uint64_atomic_set_on_stream(other + 1, t, next, stream) == 0, "an atomic");
        CHECK(tutti_stream_sync(stream) == 0, "the stream");
        if (t % 3 == 0) {
            tshmem_ctx_quiet(TSHMEM_CTX_DEFAULT);
            tshmem_sync_all();
        } else {
            tshmem_barrier_all();
        }
        shmem_load(&came, other + t % 2, sizeof came);
        CHECK(came == t, "time %llu: %llu", (unsigned long long)t, (unsigned long long)came);
        tshmem_barrier_all();
    }
}

/* Without the ring of the kernels streams do not reach PEs of other nodes, and say so; the quiet waits all the same. */
static void no_ring(int me)
{
    const int far = 1 - me;
    shmem_hush_begin();
    CHECK(tshmem_putmem_on_stream(box, numbers, 8, far, stream) < 0 && tshmem_error() < 0, "put");
    CHECK(tshmem_getmem_nbi_on_stream(numbers, box, 8, far, stream) < 0 && tshmem_error() < 0, "get");
    CHECK(tshmem_uint64_p_on_stream(box, 1, far, stream) < 0 && tshmem_error() < 0, "p");
    CHECK(tshmem_uint64_iput_on_stream(box, numbers, 1, 1, 2, far, stream) < 0 && tshmem_error() < 0, "iput");
    CHECK(tshmem_signal_op_on_stream(signals, 1, TSHMEM_SIGNAL_SET, far, stream) < 0 && tshmem_error() < 0, "signal");
    CHECK(tshmem_uint64_atomic_inc_on_stream(box, far, stream) < 0 && tshmem_error() < 0, "an atomic");
    CHECK(tshmem_sync_all_on_stream(stream) < 0 && tshmem_error() < 0, "a collective");
    shmem_hush_end();
    CHECK(tshmem_putmem_on_stream(box, numbers, 8, me, stream) == 0, "a put to oneself");
    CHECK(tshmem_quiet_on_stream(stream) == 0 && tutti_stream_sync(stream) == 0 && tshmem_error() == 0, "quiet");
}

static void errors(int pes)
{
    int nobodys = 0;
    shmem_hush_begin();
    CHECK(tshmem_putmem_on_stream(box, numbers, 8, pes, stream) < 0 && tshmem_error() < 0, "a PE that is not there");
    CHECK(tshmem_putmem_on_stream(numbers, numbers, 8, 0, stream) < 0 && tshmem_error() < 0, "not symmetric");
    CHECK(tshmem_getmem_on_stream(numbers, numbers, 8, 0, stream) < 0 && tshmem_error() < 0, "not symmetric");
    CHECK(tshmem_signal_op_on_stream(signals, 1, 9, 0, stream) < 0 && tshmem_error() < 0, "no operation");
    if (strcmp(tutti_device_name(), "host") == 0) /* CUDA believes any pointer */
        CHECK(tshmem_putmem_on_stream(box, numbers, 8, 0, &nobodys) < 0 && tshmem_error() < 0, "no stream");
    shmem_hush_end();
    CHECK(tshmem_putmem_on_stream(NULL, NULL, 0, 0, stream) == 0, "no bytes");
}

void shmem_test(void)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    box = tshmem_calloc(LONGS, sizeof *box);
    other = tshmem_calloc(LONGS, sizeof *other);
    signals = tshmem_calloc(2, sizeof *signals);
    if (!CHECK(box && other && signals, "memory"))
        return;
    CHECK(tutti_alloc(sizeof numbers, &device) == 0 && tutti_stream_create(&stream) == 0, "the program's own");
    if (shmem_is_plain(box)) { /* heaps in host memory: refused */
        shmem_hush_begin();
        CHECK(tshmem_putmem_on_stream(box, numbers, 8, 0, stream) < 0 && tshmem_error() < 0, "put");
        CHECK(tshmem_signal_op_on_stream(signals, 1, TSHMEM_SIGNAL_SET, 0, stream) < 0 && tshmem_error() < 0, "signal");
        CHECK(tshmem_uint64_atomic_fetch_inc_on_stream(box, box, 0, stream) < 0 && tshmem_error() < 0, "an atomic");
        CHECK(tshmem_uint64_test_any_on_stream(box, box, 2, NULL, TSHMEM_CMP_EQ, 0, stream) < 0 && tshmem_error() < 0,
              "a test");
        CHECK(tshmem_fence_on_stream(stream) < 0 && tshmem_error() < 0, "a fence");
        shmem_hush_end();
    } else if (pes == 2 && !shmem_is_near(1 - me) && tshmem_state_get()->ring.slots == 0) {
        no_ring(me);
        begun_by_the_host(me, pes);
    } else {
        in_order(me, pes);
        there_and_back(me, pes);
        begun_by_the_host(me, pes);
        begun_by_the_stream(me, pes);
        errors(pes);
    }
    tshmem_barrier_all();
    tutti_stream_destroy(stream);
    tutti_free(device);
    tshmem_free(box);
    tshmem_free(other);
    tshmem_free(signals);
}
