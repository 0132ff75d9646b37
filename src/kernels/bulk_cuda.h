/* Copies by bulk transfers of the GPU's copy unit (sm_90): one thread drives a ring of tiles in shared memory, loads
 * run ahead of stores, and the end of the stores is known without a fence over all that the multiprocessor has under
 * way. Where addresses do not allow it, or on older GPUs, the crew's threads copy. */
#ifndef TUTTI_KERNELS_BULK_CUDA_H
#define TUTTI_KERNELS_BULK_CUDA_H

#include "kernels/flow_cuda.h"

/* Stores under load take microseconds: a ring must hold what the links want under way from one multiprocessor. */
enum { TUTTI_TILE = 4096, TUTTI_STAGES = 12, TUTTI_AHEAD = 4 };

struct tutti_ring {
    unsigned char stage[TUTTI_STAGES][TUTTI_TILE] __attribute__((aligned(128)));
    uint64_t full[TUTTI_STAGES];
};

static __device__ __forceinline__ uint32_t tutti_shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void tutti_ring_open(struct tutti_ring *ring)
{
#if __CUDA_ARCH__ >= 900
    for (unsigned s = 0; s < TUTTI_STAGES; s++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(tutti_shared_address(&ring->full[s])) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

/* What ordinary loads and stores did, or were told to have been done, is seen by bulk transfers after it. */
static __device__ __forceinline__ void tutti_bulk_fence(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

/* Runs `tiles` tiles; one thread calls it. tile.place(t, &from) says where tile t comes from and gives its bytes (a
 * multiple of 16; 0: none); tile.target(t, i) its i-th target, tile.targets of them. *used counts the ring's tiles.
 * Stores may be under way on return: tutti_bulk_settle(). */
template <class TILE>
static __device__ __forceinline__ void tutti_bulk_run(struct tutti_ring *ring, unsigned *used, unsigned tiles,
                                                      const TILE &tile)
{
#if __CUDA_ARCH__ >= 900
#pragma unroll 1
    for (unsigned t = 0; t < tiles + TUTTI_AHEAD; t++) {
        if (t < tiles) {
            const unsigned char *from;
            const unsigned bytes = tile.place(t, &from), s = (*used + t) % TUTTI_STAGES;
            asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(TUTTI_STAGES - 1 - TUTTI_AHEAD) : "memory");
            if (bytes) {
                const uint32_t full = tutti_shared_address(&ring->full[s]);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(bytes)
                             : "memory");
                asm volatile(
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                        tutti_shared_address(ring->stage[s])),
                    "l"(from), "r"(bytes), "r"(full)
                    : "memory");
            } else {
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(tutti_shared_address(&ring->full[s]))
                             : "memory");
            }
        }
        if (t >= TUTTI_AHEAD) {
            const unsigned char *from;
            const unsigned number = *used + t - TUTTI_AHEAD, s = number % TUTTI_STAGES;
            const unsigned bytes = tile.place(t - TUTTI_AHEAD, &from);
            uint32_t there = 0;
            while (!there)
                asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                             "selp.u32 %0, 1, 0, p;\n\t}"
                             : "=r"(there)
                             : "r"(tutti_shared_address(&ring->full[s])), "r"(number / TUTTI_STAGES & 1)
                             : "memory");
            for (unsigned i = 0; bytes && i < tile.targets; i++)
                asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                                 tile.target(t - TUTTI_AHEAD, i)),
                             "r"(tutti_shared_address(ring->stage[s])), "r"(bytes)
                             : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    *used += tiles;
#endif
}

/* Waits until at most the last `tiles` tiles' stores, or fewer, are under way. */
static __device__ __forceinline__ void tutti_bulk_settle(unsigned tiles)
{
#if __CUDA_ARCH__ >= 900
    if (tiles >= 16)
        asm volatile("cp.async.bulk.wait_group 16;" ::: "memory");
    else if (tiles >= 8)
        asm volatile("cp.async.bulk.wait_group 8;" ::: "memory");
    else if (tiles >= 4)
        asm volatile("cp.async.bulk.wait_group 4;" ::: "memory");
    else if (tiles >= 2)
        asm volatile("cp.async.bulk.wait_group 2;" ::: "memory");
    else
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

/* Spans that are copied together, each to the same number of targets. */
struct tutti_bulk_spans {
    const unsigned char *from[TUTTI_MAX_GPUS];
    unsigned char *to[TUTTI_MAX_GPUS]; /* one target a span: of span i; one span: all its targets */
    uint64_t bytes[TUTTI_MAX_GPUS];
    unsigned spans, targets;
};

struct tutti_span_tiles {
    const struct tutti_bulk_spans *spans;
    unsigned each, targets;
    __device__ __forceinline__ unsigned place(unsigned t, const unsigned char **from) const
    {
        const unsigned i = t / each;
        const uint64_t at = (uint64_t)(t % each) * TUTTI_TILE, bytes = spans->bytes[i] / 16 * 16;
        *from = spans->from[i] + at;
        return at >= bytes ? 0 : bytes - at < TUTTI_TILE ? (unsigned)(bytes - at) : TUTTI_TILE;
    }
    __device__ __forceinline__ unsigned char *target(unsigned t, unsigned i) const
    {
        return spans->to[targets > 1 ? i : t / each] + (uint64_t)(t % each) * TUTTI_TILE;
    }
};

/* The crew copies the spans (in shared memory, filled in by the caller, who has met the crew since). Returns the number
 * of tiles whose stores may still be under way; 0: ordinary stores, done when they are released. */
static __device__ __forceinline__ unsigned tutti_bulk_copy(const struct tutti_crew crew, struct tutti_ring *ring,
                                                           unsigned *used, const struct tutti_bulk_spans *spans)
{
    uint64_t bits = 0, most = 0;
#pragma unroll 1
    for (unsigned i = 0; i < spans->spans; i++) {
        bits |= (uint64_t)spans->from[i];
        most = spans->bytes[i] > most ? spans->bytes[i] : most;
    }
#pragma unroll 1
    for (unsigned i = 0; i < spans->spans * spans->targets; i++)
        bits |= (uint64_t)spans->to[i];
#if __CUDA_ARCH__ >= 900
    int bulk = bits % 16 == 0;
    for (unsigned i = 0; i < spans->spans; i++)
        bulk &= spans->bytes[i] % 16 == 0;
#else
    const int bulk = 0;
#endif
    if (bulk && crew.me == 0) {
        struct tutti_span_tiles tiles;
        tiles.spans = spans;
        tiles.targets = spans->targets;
        tiles.each = (unsigned)((most + TUTTI_TILE - 1) / TUTTI_TILE);
        tutti_bulk_fence();
        tutti_bulk_run(ring, used, tiles.each * spans->spans, tiles);
    }
#pragma unroll 1
    for (unsigned i = 0; !bulk && i < spans->spans; i++)
        tutti_spread_by(crew, spans->to + (spans->targets > 1 ? 0 : i), spans->targets, spans->from[i],
                        spans->bytes[i]);
    return bulk ? (unsigned)((most + TUTTI_TILE - 1) / TUTTI_TILE) * spans->spans : 0;
}

/* A copying crew's tools, in shared memory. */
struct tutti_copier {
    struct tutti_bulk_spans spans;
    struct tutti_ring ring;
    unsigned used;
    uint64_t unsaid; /* chunk + 1 that has been copied and not marked; 0: none */
};
static_assert(3 * sizeof(struct tutti_copier) <= TUTTI_FATBIN_SHARED, "what the launch gives");
#define TUTTI_COPIER struct tutti_copier *
/* One copier for each of the jobs 0, 2 and 3. */
#define TUTTI_COPIERS(name, job)                                                                                       \
    extern __shared__ __align__(128) unsigned char name##_memory[];                                                    \
    struct tutti_copier *const name##s = (struct tutti_copier *)name##_memory;                                         \
    struct tutti_copier *const name = &name##s[(job) == 0 ? 0 : (job) == 2 ? 1 : 2];                                   \
    if (crew.me == 0 && (job) != 1) {                                                                                  \
        tutti_ring_open(&name->ring);                                                                                  \
        name->unsaid = name->used = 0;                                                                                 \
    }                                                                                                                  \
    tutti_crew_sync(crew)
/* Copies chunk k and marks it at `to` (a rank or TUTTI_PEERS), or the one before where this one's stores are still
 * under way: the next chunk's loads need not wait for them. */
#define TUTTI_COPY(args, crew, copier, spans_, targets_, phase, to, lane, epoch, k)                                    \
    tutti_copier_run(args, crew, copier, spans_, targets_, phase, to, lane, epoch, k)
/* Marks what has been copied and not been marked. */
#define TUTTI_COPIED(args, crew, copier, phase, to, lane, epoch)                                                       \
    tutti_copier_settle(args, crew, copier, phase, to, lane, epoch)

/* bulk: the stores are complete, not only issued: they are where they belong, and a mark that is stored now cannot be
 * seen before them. A release would wait for everything that the multiprocessor has under way to its peers, the next
 * chunk's stores too, which leaves the links idle (measured: 211 instead of 296 GB/s in a reduce-scatter). */
static __device__ __forceinline__ void tutti_copier_mark(const struct tutti_flow_args *args,
                                                         const struct tutti_crew crew, unsigned phase, unsigned to,
                                                         unsigned lane, uint64_t epoch, uint64_t k, int bulk)
{
    if (to == TUTTI_PEERS && bulk)
        tutti_flow_used(args, crew, phase, lane, epoch, k);
    else if (bulk)
        tutti_flow_used_one(args, crew, phase, to, lane, epoch, k);
    else if (to == TUTTI_PEERS)
        tutti_flow_mark(args, crew, phase, lane, epoch, k);
    else
        tutti_flow_mark_one(args, crew, phase, to, lane, epoch, k);
}

static __device__ __noinline__ void tutti_copier_run(const struct tutti_flow_args *args, const struct tutti_crew crew,
                                                     struct tutti_copier *copier, unsigned spans, unsigned targets,
                                                     unsigned phase, unsigned to, unsigned lane, uint64_t epoch,
                                                     uint64_t k)
{
    if (crew.me == 0) {
        copier->spans.spans = spans;
        copier->spans.targets = targets;
    }
    tutti_crew_sync(crew);
    const uint64_t before = copier->unsaid;
    const unsigned tiles = tutti_bulk_copy(crew, &copier->ring, &copier->used, &copier->spans);
    if (crew.me == 0)
        tutti_bulk_settle(tiles);
    const uint64_t marked = tiles >= 2 ? before : k + 1;
    if (marked)
        tutti_copier_mark(args, crew, phase, to, lane, epoch, marked - 1, tiles > 0);
    tutti_crew_sync(crew);
    if (crew.me == 0)
        copier->unsaid = marked == k + 1 ? 0 : k + 1;
}

static __device__ __noinline__ void tutti_copier_settle(const struct tutti_flow_args *args,
                                                        const struct tutti_crew crew, struct tutti_copier *copier,
                                                        unsigned phase, unsigned to, unsigned lane, uint64_t epoch)
{
    tutti_crew_sync(crew);
    const uint64_t left = copier->unsaid;
    if (left == 0)
        return;
    if (crew.me == 0)
        tutti_bulk_settle(0);
    tutti_copier_mark(args, crew, phase, to, lane, epoch, left - 1, 1);
    if (crew.me == 0)
        copier->unsaid = 0;
}

#endif
