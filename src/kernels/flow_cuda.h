/* The flow kernels' environment in CUDA C++; see flow.inc. Blocks may have any number of threads that is a multiple of
 * a warp. */
#ifndef TUTTI_KERNELS_FLOW_CUDA_H
#define TUTTI_KERNELS_FLOW_CUDA_H

#include "kernels/env_cuda.h"

#include "kernels/flow.inc"

#define TUTTI_FLOW_BODY(name) TUTTI_FLOW_BODY_(name)
#define TUTTI_FLOW_BODY_(name)                                                                                         \
    template <class PAIR>                                                                                              \
    static __device__ __forceinline__ void body_##name(const struct tutti_flow_args *args, const unsigned block)
#define TUTTI_IN_TURN                               0
#define TUTTI_FORMAT(packets)                       typename tutti_format<packets, TUTTI_SIZE>::type
#define TUTTI_FLOW_PUSH(packets, part, epoch)       tutti_flow_push<TUTTI_FORMAT(packets)>(args, TUTTI_SIZE, part, epoch)
#define TUTTI_FLOW_PUSH_EACH(packets, spans, epoch) tutti_flow_push_each<TUTTI_FORMAT(packets)>(args, spans, epoch)
#define TUTTI_FLOW_PUSH_SEGMENTS(packets, grain, block, epoch)                                                         \
    tutti_flow_push_segments<TUTTI_FORMAT(packets)>(args, TUTTI_SIZE, grain, block, epoch)
#define TUTTI_FLOW_PULL_EACH(packets, spans, epoch) tutti_flow_pull_each<TUTTI_FORMAT(packets)>(args, spans, epoch)
#define TUTTI_FLOW_COMBINE(packets, sum)            tutti_flow_combine<PAIR, TUTTI_FORMAT(packets)>(args, sum)

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
    if (block == 0 && args->shape != TUTTI_SHAPE_ALL && threadIdx.x + 1 < args->ranks)
        *(volatile uint64_t *)&tutti_flow_channel(args, tutti_flow_peer(args, threadIdx.x))->token[args->rank][0] =
            epoch;
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    return failed ? 0 : epoch;
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
    if (*args->abort == 0 && !(args->timeout_ns && now - p->start > args->timeout_ns) &&
        *(volatile uint32_t *)&own->failed == 0)
        return 0;
    *(volatile uint32_t *)&own->failed = 1;
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
        __nanosleep(20); /* many crews look at once, and what they wait for must get through */
    }
    tutti_load_acquire_word(word);
    return 1;
}

static __device__ __forceinline__ void tutti_flow_end(const struct tutti_flow_args *args, unsigned block,
                                                      uint64_t epoch, int ok, int tokens)
{
    struct tutti_channel_flags *const own = tutti_flow_channel(args, args->rank);
    if (tokens && block == 0 && threadIdx.x + 1 < args->ranks) {
        const unsigned peer = tutti_flow_peer(args, threadIdx.x);
        ok &= tutti_flow_wait_word(args, &own->token[peer][0], epoch, 9, peer);
    }
    ok = !__syncthreads_or(!ok);
    if (threadIdx.x != 0)
        return;
    atomicAdd((unsigned long long *)&own->ticks,
              block == 0 ? (unsigned long long)(TUTTI_TICKS - (args->blocks - 1)) : 1ull);
    if (args->ticket == 0)
        return;
    if (args->blocks > 1) {
        __threadfence();
        if (atomicInc(&own->ended, args->blocks - 1) != args->blocks - 1)
            return;
        ok = *(volatile uint32_t *)&own->failed == 0;
    }
    if (ok)
        tutti_store_release((uint32_t *)args->done, args->ticket);
}

/* ---- chunks: groups of threads go their own ways ---- */
#define TUTTI_EACH_OF(crew, i, n)                   _Pragma("unroll 1") for (unsigned i = (crew).me; i < (n); i += (crew).threads)
#define TUTTI_SYNC_OF(crew)                         tutti_crew_sync(crew)
#define TUTTI_REDUCE_BY(crew, ends, ranks, outs, n) tutti_reduce<PAIR>(crew, ends, ranks, outs, n)

static __device__ __forceinline__ void tutti_crew_sync(const struct tutti_crew crew)
{
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(crew.barrier), "r"(crew.threads) : "memory");
}

/* 1 to all where any says so. */
static __device__ __forceinline__ int tutti_crew_any(const struct tutti_crew crew, int value)
{
    int any;
    asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbarrier.cta.red.or.pred q, %2, %3, p;\n\t"
                 "selp.s32 %0, 1, 0, q;\n\t}"
                 : "=r"(any)
                 : "r"(value), "r"(crew.barrier), "r"(crew.threads)
                 : "memory");
    return any;
}

/* The crew of this thread for one of four jobs: 0 sends, 1 combines, 2 hands out, 3 takes. Where copies are bulk
 * transfers a warp each is enough for those that copy. */
static __device__ __forceinline__ struct tutti_crew tutti_flow_crew(unsigned *job)
{
#if __CUDA_ARCH__ >= 900
    const unsigned copiers = 32;
#else
    const unsigned copiers = blockDim.x / 8 / 32 * 32 > 0 ? blockDim.x / 8 / 32 * 32 : 32;
#endif
    struct tutti_crew crew = {threadIdx.x % copiers, copiers, 1 + threadIdx.x / copiers};
    const unsigned which = threadIdx.x / copiers;
    *job = which == 0 ? 0 : which + 1;
    if (which >= 3) {
        crew.me = threadIdx.x - 3 * copiers;
        crew.threads = blockDim.x - 3 * copiers;
        crew.barrier = 4;
        *job = 1;
    }
    return crew;
}

static __device__ __forceinline__ void tutti_flow_mark_word(const struct tutti_flow_args *args, unsigned phase,
                                                            unsigned to, unsigned lane, uint64_t epoch, uint64_t k)
{
    uint64_t *const word = &tutti_flow_channel(args, to)->mark[lane][phase][args->rank];
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(epoch << 24 | (k + 1)) : "memory");
}

/* Tells every peer's lane of this number that chunk k of `phase` is there (or used). */
static __device__ __forceinline__ void tutti_flow_mark(const struct tutti_flow_args *args, const struct tutti_crew crew,
                                                       unsigned phase, unsigned lane, uint64_t epoch, uint64_t k)
{
    tutti_crew_sync(crew);
    if (crew.me + 1 < args->ranks)
        tutti_flow_mark_word(args, phase, tutti_flow_peer(args, crew.me), lane, epoch, k);
}

static __device__ __forceinline__ void tutti_flow_mark_one(const struct tutti_flow_args *args,
                                                           const struct tutti_crew crew, unsigned phase, unsigned to,
                                                           unsigned lane, uint64_t epoch, uint64_t k)
{
    tutti_crew_sync(crew);
    if (crew.me == 0)
        tutti_flow_mark_word(args, phase, to, lane, epoch, k);
}

static __device__ __forceinline__ int tutti_flow_await_word(const struct tutti_flow_args *args, unsigned phase,
                                                            unsigned from, unsigned lane, uint64_t epoch, uint64_t k)
{
    return tutti_flow_wait_word(args, &tutti_flow_channel(args, args->rank)->mark[lane][phase][from],
                                epoch << 24 | (k + 1), phase, from);
}

static __device__ __forceinline__ int tutti_flow_await(const struct tutti_flow_args *args, const struct tutti_crew crew,
                                                       unsigned phase, unsigned lane, uint64_t epoch, uint64_t k)
{
    int ok = 1;
    if (crew.me + 1 < args->ranks)
        ok = tutti_flow_await_word(args, phase, tutti_flow_peer(args, crew.me), lane, epoch, k);
    return !tutti_crew_any(crew, !ok);
}

static __device__ __forceinline__ int tutti_flow_await_one(const struct tutti_flow_args *args,
                                                           const struct tutti_crew crew, unsigned phase, unsigned from,
                                                           unsigned lane, uint64_t epoch, uint64_t k)
{
    return !tutti_crew_any(crew, crew.me == 0 && !tutti_flow_await_word(args, phase, from, lane, epoch, k));
}

/* Tells every peer that this rank has read chunk k: nothing that was stored needs to be seen before. */
static __device__ __forceinline__ void tutti_flow_used(const struct tutti_flow_args *args, const struct tutti_crew crew,
                                                       unsigned phase, unsigned lane, uint64_t epoch, uint64_t k)
{
    tutti_crew_sync(crew);
    if (crew.me + 1 < args->ranks)
        *(volatile uint64_t *)&tutti_flow_channel(args, tutti_flow_peer(args, crew.me))->mark[lane][phase][args->rank] =
            epoch << 24 | (k + 1);
}

static __device__ __forceinline__ void tutti_flow_used_one(const struct tutti_flow_args *args,
                                                           const struct tutti_crew crew, unsigned phase, unsigned to,
                                                           unsigned lane, uint64_t epoch, uint64_t k)
{
    tutti_crew_sync(crew);
    if (crew.me == 0)
        *(volatile uint64_t *)&tutti_flow_channel(args, to)->mark[lane][phase][args->rank] = epoch << 24 | (k + 1);
}

/* Tells other crews of this GPU that what this one stored in its memory is there, for bulk transfers too. */
static __device__ __forceinline__ void tutti_flow_mark_own(const struct tutti_flow_args *args,
                                                           const struct tutti_crew crew, unsigned phase, unsigned lane,
                                                           uint64_t epoch, uint64_t k)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
    __threadfence();
    tutti_crew_sync(crew);
    if (crew.me == 0)
        asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(
                         &tutti_flow_channel(args, args->rank)->mark[lane][phase][args->rank]),
                     "l"(epoch << 24 | (k + 1))
                     : "memory");
}

/* Until `peer` has begun this launch. */
static __device__ __forceinline__ int tutti_flow_begun(const struct tutti_flow_args *args, const struct tutti_crew crew,
                                                       unsigned peer, uint64_t epoch)
{
    return !tutti_crew_any(
        crew, crew.me == 0 &&
                  !tutti_flow_wait_word(args, &tutti_flow_channel(args, args->rank)->token[peer][0], epoch, 9, peer));
}

#endif
