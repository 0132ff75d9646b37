/* The flow kernels' environment in CUDA C++; see flow.inc. Blocks may have any number of threads that is a multiple of
 * a warp. */
#ifndef TUTTI_KERNELS_FLOW_CUDA_H
#define TUTTI_KERNELS_FLOW_CUDA_H

#include "kernels/env_cuda.h"

#include "kernels/flow.inc"

#define TUTTI_FLOW_BODY(name) TUTTI_FLOW_BODY_(name)
#define TUTTI_FLOW_BODY_(name)                                                                                         \
    template <class PAIR>                                                                                              \
    static __device__ __forceinline__ void body_##name(const struct tutti_flow_args *args, const unsigned block,       \
                                                       const PAIR pair)
#define TUTTI_FLOW_STEP(name) TUTTI_FLOW_STEP_(name)
#define TUTTI_FLOW_STEP_(name)                                                                                         \
    template <class PAIR>                                                                                              \
    static __device__ __forceinline__ int step_##name(const struct tutti_flow_args *args, const unsigned block,        \
                                                      const uint64_t epoch, const int segments, const PAIR pair)
#define TUTTI_FLOW_TAKE(name, call, block, epoch, segments)  TUTTI_FLOW_TAKE_(name, call, block, epoch, segments)
#define TUTTI_FLOW_TAKE_(name, call, block, epoch, segments) step_##name(call, block, epoch, segments, pair)
#define TUTTI_FORMAT(packets)                                typename tutti_format<packets, TUTTI_SIZE>::type
#define TUTTI_FLOW_PUSH(packets, part, epoch)                tutti_flow_push<TUTTI_FORMAT(packets)>(args, TUTTI_SIZE, part, epoch)
#define TUTTI_FLOW_PUSH_EACH(packets, spans, epoch)          tutti_flow_push_each<TUTTI_FORMAT(packets)>(args, spans, epoch)
#define TUTTI_FLOW_PUSH_SEGMENTS(packets, grain, block, epoch)                                                         \
    tutti_flow_push_segments<TUTTI_FORMAT(packets)>(args, TUTTI_SIZE, grain, block, epoch)
#define TUTTI_FLOW_PULL_EACH(packets, spans, epoch) tutti_flow_pull_each<TUTTI_FORMAT(packets)>(args, spans, epoch)
#define TUTTI_FLOW_RELAY(link)                      tutti_flow_relay<TUTTI_FORMAT(TUTTI_LL128)>(args, pair.widely(), TUTTI_SIZE, link)
#define TUTTI_FLOW_COMBINE(packets, sum)            tutti_flow_combine<TUTTI_FORMAT(packets)>(args, pair.widely(), TUTTI_SIZE, sum)

static __device__ __forceinline__ uint64_t tutti_load_shared_word(const uint64_t *from)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

static __device__ __forceinline__ uint64_t tutti_load_acquire_word(const uint64_t *from)
{
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

static __device__ __forceinline__ struct tutti_channel_flags *tutti_flow_channel(const struct tutti_flow_args *args,
                                                                                 unsigned rank)
{
    return (struct tutti_channel_flags *)args->window[rank];
}

/* The block's threads together; everything that this block stores afterwards is seen later. */
static __device__ __noinline__ void tutti_flow_scrub(unsigned char *at, uint64_t bytes)
{
#pragma unroll 1
    for (uint64_t i = threadIdx.x * 16ull; i < bytes; i += blockDim.x * 16ull)
        *(uint4 *)(at + i) = make_uint4(0, 0, 0, 0);
    __threadfence_system();
    __syncthreads();
}

/* A barrier's token says that what the program has done before is there; the others' guard nothing but places. */
static __device__ __forceinline__ void tutti_flow_tell(const struct tutti_flow_args *args, unsigned block,
                                                       uint64_t epoch)
{
    if (block != 0)
        return;
    if (tutti_flow_scrubs(epoch))
        tutti_flow_scrub((unsigned char *)args->window[args->rank] + args->packets +
                             (~epoch & 1) * args->packets_stride,
                         args->packets_stride);
    if (!tutti_flow_tells(args) || threadIdx.x + 1 >= args->ranks)
        return;
    uint64_t *const token = &tutti_flow_channel(args, tutti_flow_peer(args, threadIdx.x))->token[args->rank][0];
    if (args->shape == TUTTI_SHAPE_NOTHING)
        asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(token), "l"(epoch) : "memory");
    else
        *(volatile uint64_t *)token = epoch;
}

/* The block's part is done when one thread has said it; saying it again does nothing. */
static __device__ __forceinline__ void tutti_flow_let_go(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* The first block leaves its epoch in the channel. Launches in two streams at once are of one epoch, and take each
 * other's packets: the second one finds its own there, or, where they began at the same time, the next one finds that
 * an epoch is missing. */
static __device__ __forceinline__ void tutti_flow_claim(const struct tutti_flow_args *args,
                                                        struct tutti_channel_flags *own, unsigned block, uint64_t epoch)
{
    if (block != 0 || threadIdx.x != 0)
        return;
    const uint64_t begun = tutti_load_shared_word(&own->begun);
    *(volatile uint64_t *)&own->begun = epoch;
    if (begun == 0 || begun == epoch - 1)
        return;
    *(volatile uint32_t *)&own->failed = 1;
    *args->failed = TUTTI_LEFT_TWICE;
}

/* All threads of the block call it. At its end a block adds its share of a launch to `ticks`; the shares of all blocks
 * make one launch, so that whoever reads before the last block has added sees the same epoch. */
static __device__ __forceinline__ uint64_t tutti_flow_begin(const struct tutti_flow_args *args, unsigned block)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory"); /* launched early: nothing of the launch before may be missed */
#endif
    struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    const uint64_t epoch = tutti_load_shared_word(&own->ticks) / TUTTI_TICKS + 1;
    const uint32_t failed = *(const volatile uint32_t *)&own->failed;
    tutti_flow_claim(args, own, block, epoch);
    tutti_flow_tell(args, block, epoch);
    if (args->early)
        tutti_flow_let_go();
    return failed ? 0 : epoch;
}

/* Nobody else counts in between: no need to look at `ticks` again. */
static __device__ __forceinline__ uint64_t tutti_flow_next(const struct tutti_flow_args *args, unsigned block,
                                                           uint64_t epoch)
{
    tutti_flow_claim(args, tutti_flow_channel(args, args->rank), block, epoch + 1);
    tutti_flow_tell(args, block, epoch + 1);
    return epoch + 1;
}

/* A thread's patience in one wait. */
struct tutti_patience {
    unsigned spins;
    uint64_t start;
};

/* One more look was in vain; 1 where the launch must be left. */
static __device__ __forceinline__ int tutti_flow_tired(const struct tutti_flow_args *args, struct tutti_patience *p,
                                                       unsigned phase, unsigned rank)
{
    if (++p->spins % TUTTI_SPINS_CHECK)
        return 0;
    struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    const uint64_t now = tutti_clock_ns();
    p->start = p->start ? p->start : now;
    if (now - p->start > TUTTI_LONG_WAIT_NS && args->where)
        *args->where = phase << 16 | rank;
    const int late = args->timeout_ns && now - p->start > args->timeout_ns;
    if (*(volatile uint32_t *)&own->failed != 0) /* why is said */
        return 1;
    if (*args->abort == 0 && !late)
        return 0;
    *(volatile uint32_t *)&own->failed = 1;
    *args->failed = late ? TUTTI_LEFT_LATE : TUTTI_LEFT_TOLD;
    return 1;
}

/* Until the word has reached `value`; 0 where the launch must be left. */
static __device__ __forceinline__ int tutti_flow_wait_word(const struct tutti_flow_args *args, const uint64_t *word,
                                                           uint64_t value, unsigned phase, unsigned rank)
{
    struct tutti_patience patience = {0, 0};
    while (tutti_load_shared_word(word) < value) { /* acquired once: every such load empties the first cache */
        if (tutti_flow_tired(args, &patience, phase, rank))
            return 0;
        __nanosleep(20); /* many blocks look at once, and what they wait for must get through */
    }
    tutti_load_acquire_word(word);
    return 1;
}

/* A release over the whole system waits for the acknowledgement of everything that is under way to peers. Where the
 * result is in this GPU's own memory, all that can read it reads it from the GPU's second cache. */
static __device__ __forceinline__ void tutti_flow_notify(const struct tutti_flow_args *args, uint64_t epoch)
{
    volatile uint32_t *const word = args->launch_number ? args->done : args->noticed;
    const uint32_t value = args->launch_number ? args->launch_number : (uint32_t)epoch;
    if (args->notice & TUTTI_NOTICE_NEAR) {
        if (args->blocks == 1) /* otherwise every block has done so before it counted itself */
            __threadfence();
        *word = value;
    } else {
        tutti_store_release((uint32_t *)word, value);
    }
}

static __device__ __forceinline__ int tutti_flow_end(const struct tutti_flow_args *args, unsigned block, uint64_t epoch,
                                                     int ok, int tokens)
{
    struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    if (tokens && block == 0 && threadIdx.x + 1 < args->ranks) {
        const unsigned peer = tutti_flow_peer(args, threadIdx.x);
        ok &= tutti_flow_wait_word(args, &own->token[peer][0], epoch, 9, peer);
    }
    ok = !__syncthreads_or(!ok);
    if (!args->early)
        tutti_flow_let_go();
    if (threadIdx.x != 0)
        return ok;
    atomicAdd((unsigned long long *)&own->ticks,
              block == 0 ? (unsigned long long)(TUTTI_TICKS - (args->blocks - 1)) : 1ull);
    if (args->launch_number == 0 && args->notice == 0)
        return ok;
    if (args->blocks > 1) {
        __threadfence();
        if (atomicInc(&own->ended, args->blocks - 1) != args->blocks - 1)
            return ok;
        ok = *(volatile uint32_t *)&own->failed == 0;
    }
    if (ok)
        tutti_flow_notify(args, epoch);
    return ok;
}

/* ---- chunks ---- */
static __device__ __forceinline__ void tutti_flow_mark_word(const struct tutti_flow_args *args, unsigned phase,
                                                            unsigned to, unsigned block, uint64_t epoch, uint64_t k)
{
    uint64_t *const word = &tutti_flow_channel(args, to)->mark[block][phase][args->rank];
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(epoch << 24 | (k + 1)) : "memory");
}

/* Tells every peer's block of this number that chunk k of `phase` is there (or used). */
static __device__ __forceinline__ void tutti_flow_mark(const struct tutti_flow_args *args, unsigned phase,
                                                       unsigned block, uint64_t epoch, uint64_t k)
{
    __syncthreads();
    if (threadIdx.x + 1 < args->ranks)
        tutti_flow_mark_word(args, phase, tutti_flow_peer(args, threadIdx.x), block, epoch, k);
}

static __device__ __forceinline__ void tutti_flow_mark_one(const struct tutti_flow_args *args, unsigned phase,
                                                           unsigned to, unsigned block, uint64_t epoch, uint64_t k)
{
    __syncthreads();
    if (threadIdx.x == 0)
        tutti_flow_mark_word(args, phase, to, block, epoch, k);
}

/* Tells `to`, or all peers, that chunk k of `phase` has been used: all threads have read it, and nothing was written
 * that the receiver reads. So nothing is waited for. */
static __device__ __forceinline__ void tutti_flow_used(const struct tutti_flow_args *args, unsigned phase, unsigned to,
                                                       unsigned block, uint64_t epoch, uint64_t k)
{
    __syncthreads();
    if (to == TUTTI_PEERS ? threadIdx.x + 1 < args->ranks : threadIdx.x == 0) {
        const unsigned peer = to == TUTTI_PEERS ? tutti_flow_peer(args, threadIdx.x) : to;
        *(volatile uint64_t *)&tutti_flow_channel(args, peer)->mark[block][phase][args->rank] = epoch << 24 | (k + 1);
    }
}

static __device__ __forceinline__ int tutti_flow_await_word(const struct tutti_flow_args *args, unsigned phase,
                                                            unsigned from, unsigned block, uint64_t epoch, uint64_t k)
{
    return tutti_flow_wait_word(args, &tutti_flow_channel(args, args->rank)->mark[block][phase][from],
                                epoch << 24 | (k + 1), phase, from);
}

static __device__ __forceinline__ int tutti_flow_await(const struct tutti_flow_args *args, unsigned phase,
                                                       unsigned block, uint64_t epoch, uint64_t k)
{
    int ok = 1;
    if (threadIdx.x + 1 < args->ranks)
        ok = tutti_flow_await_word(args, phase, tutti_flow_peer(args, threadIdx.x), block, epoch, k);
    return !__syncthreads_or(!ok);
}

static __device__ __forceinline__ int tutti_flow_await_one(const struct tutti_flow_args *args, unsigned phase,
                                                           unsigned from, unsigned block, uint64_t epoch, uint64_t k)
{
    return !__syncthreads_or(threadIdx.x == 0 && !tutti_flow_await_word(args, phase, from, block, epoch, k));
}

/* 1 where it is for all threads of the block. */
static __device__ __forceinline__ int tutti_flow_agree(int ok)
{
    return !__syncthreads_or(!ok);
}

static __device__ __forceinline__ int tutti_flow_begun(const struct tutti_flow_args *args, unsigned peer,
                                                       uint64_t epoch)
{
    int ok = 1;
    if (peer == TUTTI_PEERS ? threadIdx.x + 1 < args->ranks : threadIdx.x == 0) {
        const unsigned from = peer == TUTTI_PEERS ? tutti_flow_peer(args, threadIdx.x) : peer;
        ok = tutti_flow_wait_word(args, &tutti_flow_channel(args, args->rank)->token[from][0], epoch, 9, from);
    }
    return !__syncthreads_or(!ok);
}

#endif
