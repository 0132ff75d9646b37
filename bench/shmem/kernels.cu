/* The kernel that measures, of PE BENCH_PE. */
#include "tutti/device.h"

#include "bench.h"

static __device__ void stamp(uint64_t *times)
{
    __syncthreads();
    if (threadIdx.x == 0)
        times[blockIdx.x] = tutti_dev_clock_ns();
}

/* `body` in all rounds; the clock begins past the first tenth. All threads of the block come here. */
#define ROUNDS(body)                                                                                                   \
    do {                                                                                                               \
        for (unsigned i = 0; i < c.rounds; i++) {                                                                      \
            if (i == c.rounds / 10)                                                                                    \
                stamp(c.begin);                                                                                        \
            if (in)                                                                                                    \
                body;                                                                                                  \
        }                                                                                                              \
        stamp(c.end);                                                                                                  \
    } while (0)

/* A call in the form that is measured. Threads that have no part in it have in == 0. */
#define IN_FORM(call, ...)                                                                                             \
    do {                                                                                                               \
        if (c.group == BENCH_BLOCK)                                                                                    \
            call##_block(__VA_ARGS__);                                                                                 \
        else if (c.group == BENCH_WARP)                                                                                \
            call##_warp(__VA_ARGS__);                                                                                  \
        else                                                                                                           \
            call(__VA_ARGS__);                                                                                         \
    } while (0)

static __device__ __noinline__ void p_quiet(const struct bench_call &c, int in, int to)
{
    ROUNDS({
        tshmem_uint64_p(&c.heap->word, i + 1, to);
        tshmem_quiet();
    });
    if (in && tshmem_uint64_g(&c.heap->word, to) != c.rounds)
        atomicAdd(c.wrong, 1);
}

static __device__ __noinline__ void put_quiet(const struct bench_call &c, int in, int to)
{
    ROUNDS({
        IN_FORM(tshmem_putmem, c.heap->in, c.heap->out, c.bytes, to);
        IN_FORM(tshmem_quiet, );
    });
}

static __device__ __noinline__ void add(const struct bench_call &c, int in, int to)
{
    ROUNDS({
        tshmem_uint64_atomic_add(&c.heap->counter, 1, to);
        tshmem_quiet();
    });
    if (in && tshmem_uint64_g(&c.heap->counter, to) != c.rounds)
        atomicAdd(c.wrong, 1);
}

static __device__ __noinline__ void fetch_add(const struct bench_call &c, int in, int to)
{
    unsigned wrong = 0;
    ROUNDS(wrong += tshmem_uint64_atomic_fetch_add(&c.heap->counter, 1, to) != i);
    if (wrong)
        atomicAdd(c.wrong, wrong);
}

/* PE 0 begins; what comes carries the number of the round in its first and last byte. */
static __device__ __noinline__ void pingpong(const struct bench_call &c, int in, int to)
{
    unsigned wrong = 0;
    const bool first = tshmem_my_pe() == 0;
    unsigned char *const out = c.heap->out, *const have = c.heap->in;
    const bool leads = threadIdx.x == 0;
    ROUNDS({
        if (leads)
            out[0] = out[c.bytes - 1] = (unsigned char)i;
        if (first)
            IN_FORM(tshmem_putmem_signal, have, out, c.bytes, &c.heap->signal[0], i + 1, TSHMEM_SIGNAL_SET, to);
        IN_FORM(tshmem_signal_wait_until, &c.heap->signal[0], TSHMEM_CMP_EQ, i + 1);
        if (leads)
            wrong += have[0] != (unsigned char)i || have[c.bytes - 1] != (unsigned char)i;
        if (!first)
            IN_FORM(tshmem_putmem_signal, have, out, c.bytes, &c.heap->signal[0], i + 1, TSHMEM_SIGNAL_SET, to);
    });
    if (wrong)
        atomicAdd(c.wrong, wrong);
}

static __device__ __noinline__ void barrier(const struct bench_call &c, int in)
{
    ROUNDS(IN_FORM(tshmem_barrier, TSHMEM_TEAM_WORLD));
    if (threadIdx.x == 0 && c.heap->area.sequence[TSHMEM_BY_DEVICE] != c.rounds)
        atomicAdd(c.wrong, 1);
}

static __device__ __noinline__ void fcollect(const struct bench_call &c, int in)
{
    ROUNDS(IN_FORM(tshmem_fcollectmem, TSHMEM_TEAM_WORLD, c.heap->in, c.heap->out, c.bytes));
}

static __device__ __noinline__ void broadcast(const struct bench_call &c, int in)
{
    ROUNDS(IN_FORM(tshmem_broadcastmem, TSHMEM_TEAM_WORLD, c.heap->in, c.heap->out, c.bytes, 0));
}

static __device__ __noinline__ void sum(const struct bench_call &c, int in)
{
    ROUNDS(IN_FORM(tshmem_float_sum_reduce, TSHMEM_TEAM_WORLD, (float *)c.heap->in, (const float *)c.heap->out,
                   c.bytes / sizeof(float)));
}

/* Each block moves its own part. */
static __device__ __noinline__ void bandwidth(const struct bench_call &c, int in, int to)
{
    const size_t part = c.bytes / gridDim.x, at = part * blockIdx.x;
    if (c.operation == BENCH_PUT)
        ROUNDS(IN_FORM(tshmem_putmem_nbi, c.heap->in + at, c.heap->out + at, part, to));
    else
        ROUNDS(IN_FORM(tshmem_getmem_nbi, c.heap->in + at, c.heap->out + at, part, to));
    if (in)
        IN_FORM(tshmem_quiet, );
    stamp(c.end);
}

static __device__ __noinline__ void get(const struct bench_call &c, int in, int to)
{
    ROUNDS(IN_FORM(tshmem_getmem, c.heap->in, c.heap->out, c.bytes, to));
}

static __device__ __noinline__ void ring_trip(const struct bench_call &c, int in)
{
    const struct tutti_dev_request nothing = {};
    ROUNDS(tutti_dev_ring_call(&nothing));
}

static __device__ __noinline__ void ring_rate(const struct bench_call &c)
{
    const struct tutti_dev_request nothing = {};
    const int in = 1;
    ROUNDS(tutti_dev_ring_send(&nothing, 0));
    tshmem_quiet_block();
    stamp(c.end);
}

static __global__ void __launch_bounds__(1024) run(struct bench_call c)
{
    const int to = 1 - tshmem_my_pe();
    const int in = c.group == BENCH_BLOCK || (c.group == BENCH_WARP ? threadIdx.x < 32 : threadIdx.x == 0);
    switch (c.operation) {
    case BENCH_P_QUIET:
        return p_quiet(c, in, to);
    case BENCH_PUT_QUIET:
        return put_quiet(c, in, to);
    case BENCH_ADD:
        return add(c, in, to);
    case BENCH_FETCH_ADD:
        return fetch_add(c, in, to);
    case BENCH_PINGPONG:
        return pingpong(c, in, to);
    case BENCH_BARRIER:
        return barrier(c, in);
    case BENCH_FCOLLECT:
        return fcollect(c, in);
    case BENCH_BROADCAST:
        return broadcast(c, in);
    case BENCH_SUM:
        return sum(c, in);
    case BENCH_GET_BLOCKING:
        return get(c, in, to);
    case BENCH_RING_TRIP:
        return ring_trip(c, in);
    case BENCH_RING_RATE:
        return ring_rate(c);
    default:
        return bandwidth(c, in, to);
    }
}

#if BENCH_PE == 0
const struct bench_pe bench_pe_0 = {(const void *)run, tshmem_bind_here};
#else
const struct bench_pe bench_pe_1 = {(const void *)run, tshmem_bind_here};
#endif
