/* Packets in CUDA C++: the two formats, packing, unpacking and combining; see flow.inc. */
#ifndef TUTTI_KERNELS_PACKETS_CUDA_H
#define TUTTI_KERNELS_PACKETS_CUDA_H

#include "kernels/flow_cuda.h"

/* ---- 16 bytes of the program's memory ---- */
/* Alignment class of an address that is used at multiples of `step`: 16, 8, 4 or 1. */
static __device__ __forceinline__ unsigned tutti_aligned(uint64_t address, unsigned step)
{
    address |= step;
    return address % 16 == 0 ? 16 : address % 8 == 0 ? 8 : address % 4 == 0 ? 4 : 1;
}

union tutti_quad {
    uint4 v;
    uint64_t d[2];
    uint32_t w[4];
    uint8_t b[16];
};

/* Past the first cache: a kernel that stays (linger) finds what other kernels have stored since. */
static __device__ __forceinline__ uint4 tutti_fresh_quad(const unsigned char *from)
{
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

static __device__ __forceinline__ uint64_t tutti_fresh_u64(const unsigned char *from)
{
    uint64_t v;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(v) : "l"(from) : "memory");
    return v;
}

static __device__ __forceinline__ uint32_t tutti_fresh_u32(const unsigned char *from)
{
    uint32_t v;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return v;
}

static __device__ __forceinline__ uint8_t tutti_fresh_u8(const unsigned char *from)
{
    uint32_t v;
    asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return (uint8_t)v;
}

/* The first `valid` bytes at `from`; the others are zero. */
static __device__ __forceinline__ uint4 tutti_plain_load(const unsigned char *from, unsigned valid, unsigned aligned)
{
    union tutti_quad quad;
    if (aligned == 16 && valid == 16)
        return tutti_fresh_quad(from);
    quad.d[0] = quad.d[1] = 0;
    if (aligned >= 8 && valid % 8 == 0) {
        if (valid > 0)
            quad.d[0] = tutti_fresh_u64(from);
        if (valid > 8)
            quad.d[1] = tutti_fresh_u64(from + 8);
    } else if (aligned >= 4 && valid % 4 == 0) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
            if (valid > 4 * i)
                quad.w[i] = tutti_fresh_u32(from + 4 * i);
    } else {
#pragma unroll
        for (unsigned i = 0; i < 16; i++)
            if (valid > i)
                quad.b[i] = tutti_fresh_u8(from + i);
    }
    return quad.v;
}

static __device__ __forceinline__ void tutti_plain_store(unsigned char *to, uint4 value, unsigned valid,
                                                         unsigned aligned)
{
    union tutti_quad quad;
    if (aligned == 16 && valid == 16) {
        *(uint4 *)to = value;
        return;
    }
    quad.v = value;
    if (aligned >= 8 && valid % 8 == 0) {
        if (valid > 0)
            *(uint64_t *)to = quad.d[0];
        if (valid > 8)
            *(uint64_t *)(to + 8) = quad.d[1];
    } else if (aligned >= 4 && valid % 4 == 0) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
            if (valid > 4 * i)
                *(uint32_t *)(to + 4 * i) = quad.w[i];
    } else {
#pragma unroll
        for (unsigned i = 0; i < 16; i++)
            if (valid > i)
                to[i] = quad.b[i];
    }
}

/* ---- packets ---- */
/* A block's part is below 4 GiB, so that units are counted in 32 bits.
 * A format: units of up to 16 bytes of data, one a thread. WARP: a warp's 32 units are stored and seen together, so its
 * threads stay together and the number of units is a multiple of 32. */
struct tutti_format_ll {
    enum { WARP = 0, STEP = 16 };
    static constexpr enum tutti_packets PACKETS = TUTTI_LL;
    struct held {
        uint4 a, b;
    };
    static __device__ __forceinline__ uint32_t units(uint32_t bytes)
    {
        return (bytes + 15) / 16;
    }
    static __device__ __forceinline__ uint32_t data(uint32_t unit)
    {
        return unit * 16;
    }
    /* The second half 512 bytes on: what a warp stores at once lies side by side. */
    static __device__ __forceinline__ uint32_t wire(uint32_t unit)
    {
        return unit / 32 * 1024 + unit % 32 * 16;
    }
    static __device__ __forceinline__ unsigned valid(uint32_t unit, uint32_t bytes)
    {
        return bytes - unit * 16 < 16 ? bytes - unit * 16 : 16;
    }
    static __device__ __forceinline__ uint32_t flag(uint64_t epoch)
    {
        return (uint32_t)epoch | 0x80000000u;
    }
    static __device__ __forceinline__ void store(unsigned char *to, uint32_t, uint4 v, uint64_t epoch)
    {
        const uint32_t f = flag(epoch);
        asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(to), "r"(v.x), "r"(f), "r"(v.y)
                     : "memory");
        asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(to + 512), "r"(v.z), "r"(f), "r"(v.w)
                     : "memory");
    }
    static __device__ __forceinline__ void look(const unsigned char *from, struct held *held)
    {
        asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(held->a.x), "=r"(held->a.y), "=r"(held->a.z), "=r"(held->a.w)
                     : "l"(from)
                     : "memory");
        asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(held->b.x), "=r"(held->b.y), "=r"(held->b.z), "=r"(held->b.w)
                     : "l"(from + 512)
                     : "memory");
    }
    static __device__ __forceinline__ int there(const struct held *held, uint64_t epoch)
    {
        const uint32_t f = flag(epoch);
        return held->a.y == f && held->a.w == f && held->b.y == f && held->b.w == f;
    }
    static __device__ __forceinline__ uint4 value(const struct held *held)
    {
        return make_uint4(held->a.x, held->a.z, held->b.x, held->b.z);
    }
};

template <unsigned DATA> struct tutti_format_lines {
    enum { WARP = 1, STEP = 8 };
    static constexpr enum tutti_packets PACKETS = TUTTI_LL128;
    struct held {
        uint64_t a, b;
    };
    static __device__ __forceinline__ uint32_t units(uint32_t bytes)
    {
        return ((bytes + DATA - 1) / DATA + 3) / 4 * 32;
    }
    static __device__ __forceinline__ uint32_t data(uint32_t unit)
    {
        return unit / 8 * DATA + unit % 8 * 16;
    }
    static __device__ __forceinline__ uint32_t wire(uint32_t unit)
    {
        return unit * 16;
    }
    static __device__ __forceinline__ unsigned valid(uint32_t unit, uint32_t bytes)
    {
        const uint32_t at = data(unit);
        const unsigned most = unit % 8 == 7 ? DATA - 112 : 16;
        return at >= bytes ? 0 : bytes - at < most ? bytes - at : most;
    }
    static __device__ __forceinline__ void store(unsigned char *to, uint32_t unit, uint4 v, uint64_t epoch)
    {
        union tutti_quad quad;
        quad.v = v;
        const uint64_t high = unit % 8 == 7 ? epoch : quad.d[1];
        asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(quad.d[0]), "l"(high) : "memory");
    }
    static __device__ __forceinline__ void look(const unsigned char *from, struct held *held)
    {
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(held->a), "=l"(held->b) : "l"(from) : "memory");
    }
    /* The whole warp calls it and gets one answer. */
    static __device__ __forceinline__ int there(const struct held *held, uint64_t epoch)
    {
        return __all_sync(0xffffffffu, threadIdx.x % 8 != 7 || held->b == epoch);
    }
    static __device__ __forceinline__ uint4 value(const struct held *held)
    {
        union tutti_quad quad;
        quad.d[0] = held->a;
        quad.d[1] = held->b;
        return quad.v;
    }
};

/* Before a warp stores or looks at units that are seen together: its threads may have come on several ways, and what
 * some of them do earlier belongs to another moment. Nothing is loaded ahead of it, so it stands behind all plain loads
 * of a batch. */
template <class F> static __device__ __forceinline__ void tutti_packets_together(void)
{
    if (F::WARP)
        __syncwarp();
}

template <int PACKETS, unsigned SIZE> struct tutti_format {
    typedef tutti_format_lines<SIZE == 16 ? 112 : 120> type;
};
template <unsigned SIZE> struct tutti_format<TUTTI_LL, SIZE> {
    typedef tutti_format_ll type;
};

/* Waits for a unit. Formats of warps: the whole warp leaves together. */
template <class F>
static __device__ __forceinline__ int tutti_packet_wait(const struct tutti_flow_args *args, const unsigned char *from,
                                                        uint64_t epoch, unsigned rank, typename F::held *held)
{
    struct tutti_patience patience = {0, 0};
    while (!F::there(held, epoch)) {
        int tired = tutti_flow_tired(args, &patience, 8, rank);
        if (F::WARP)
            tired = __any_sync(0xffffffffu, tired);
        if (tired)
            return 0;
        tutti_packets_together<F>();
        F::look(from, held);
    }
    return 1;
}

/* The same bytes to all who want them. */
template <class F>
static __device__ __forceinline__ void tutti_flow_push(const struct tutti_flow_args *args, unsigned size,
                                                       const struct tutti_span part, uint64_t epoch)
{
    const unsigned char *const from = (const unsigned char *)args->in + part.begin * size;
    const uint32_t bytes = (uint32_t)(part.n * size), units = F::units(bytes);
    const uint64_t offset = tutti_flow_offset(F::PACKETS, size, part.begin);
    const unsigned aligned = tutti_aligned((uint64_t)from, F::STEP);
#pragma unroll 1
    for (uint32_t u = threadIdx.x; u < units; u += blockDim.x) {
        const uint4 v = tutti_plain_load(from + F::data(u), F::valid(u, bytes), aligned);
        tutti_packets_together<F>();
#pragma unroll 4
        for (unsigned i = 0; i + 1 < args->ranks; i++) {
            const unsigned peer = tutti_flow_peer(args, i);
            if (tutti_flow_wanted(args, peer).n != 0)
                F::store(tutti_flow_slot(args, peer, epoch, args->rank) + offset + F::wire(u), u, v, epoch);
        }
    }
}

template <class F>
static __device__ __forceinline__ uint32_t tutti_flow_most_units(const struct tutti_flow_args *args,
                                                                 const struct tutti_flow_spans *spans)
{
    uint32_t most = 0;
    for (unsigned i = 0; i + 1 < args->ranks; i++) {
        const uint32_t units = F::units((uint32_t)spans[i].bytes);
        most = units > most ? units : most;
    }
    return (most + 31) / 32 * 32;
}

/* Warps take turns over the peers, so that small messages to all of them leave at once; each has up to BATCH units
 * under way. */
template <class F>
static __device__ __forceinline__ void tutti_flow_push_each(const struct tutti_flow_args *args,
                                                            const struct tutti_flow_spans *spans, uint64_t epoch)
{
    enum { BATCH = 4 };
    const unsigned peers = args->ranks - 1, warps = blockDim.x / 32;
    const uint32_t turns = tutti_flow_most_units<F>(args, spans) / 32 * peers;
#pragma unroll 1
    for (uint32_t first = threadIdx.x / 32; first < turns; first += warps * BATCH) {
        uint4 held[BATCH];
#pragma unroll
        for (unsigned b = 0; b < BATCH; b++) {
            const uint32_t w = first + b * warps;
            const uint32_t i = w % peers;
            const uint32_t u = w / peers * 32 + threadIdx.x % 32;
            if (w < turns && u < F::units((uint32_t)spans[i].bytes)) {
                const unsigned char *const from = spans[i].plain;
                held[b] = tutti_plain_load(from + F::data(u), F::valid(u, (uint32_t)spans[i].bytes),
                                           tutti_aligned((uint64_t)from, F::STEP));
            }
        }
        tutti_packets_together<F>();
#pragma unroll
        for (unsigned b = 0; b < BATCH; b++) {
            const uint32_t w = first + b * warps;
            const uint32_t i = w % peers;
            const uint32_t u = w / peers * 32 + threadIdx.x % 32;
            if (w < turns && u < F::units((uint32_t)spans[i].bytes))
                F::store(spans[i].packets + F::wire(u), u, held[b], epoch);
        }
    }
}

/* The block's part of every peer's segment; warps take turns over the peers. */
template <class F>
static __device__ __forceinline__ void tutti_flow_push_segments(const struct tutti_flow_args *args, unsigned size,
                                                                uint64_t grain, unsigned block, uint64_t epoch)
{
    enum { BATCH = 4 };
    const uint32_t peers = args->ranks - 1, warps = blockDim.x / 32;
    for (uint32_t i = threadIdx.x / 32 % peers; i < peers; i += warps < peers ? warps : peers) {
        const unsigned peer = tutti_flow_peer(args, i);
        const struct tutti_span part = tutti_flow_part(args->n[peer], grain, block, args->blocks);
        const unsigned char *const from = (const unsigned char *)args->in + (args->begin[peer] + part.begin) * size;
        unsigned char *const to =
            tutti_flow_slot(args, peer, epoch, args->rank) + tutti_flow_offset(F::PACKETS, size, part.begin);
        const uint32_t bytes = (uint32_t)(part.n * size), units = F::units(bytes);
        const unsigned aligned = tutti_aligned((uint64_t)from, F::STEP);
        /* Of the warps whose turn this peer is, every one takes its share. */
        const uint32_t with = warps < peers ? 1 : (warps - i + peers - 1) / peers, first = threadIdx.x / 32 / peers;
        if constexpr (!F::WARP) {
#pragma unroll 4
            for (uint32_t u = first * 32 + threadIdx.x % 32; u < units; u += with * 32)
                F::store(to + F::wire(u), u, tutti_plain_load(from + F::data(u), F::valid(u, bytes), aligned), epoch);
        } else {
            for (uint32_t next = first * 32 + threadIdx.x % 32; next < units; next += with * 32 * BATCH) {
                uint4 held[BATCH];
#pragma unroll
                for (unsigned b = 0; b < BATCH; b++) {
                    const uint32_t u = next + b * with * 32;
                    if (u < units)
                        held[b] = tutti_plain_load(from + F::data(u), F::valid(u, bytes), aligned);
                }
                tutti_packets_together<F>();
#pragma unroll
                for (unsigned b = 0; b < BATCH; b++) {
                    const uint32_t u = next + b * with * 32;
                    if (u < units)
                        F::store(to + F::wire(u), u, held[b], epoch);
                }
            }
        }
    }
}

template <class F>
static __device__ __forceinline__ int tutti_flow_pull_each(const struct tutti_flow_args *args,
                                                           const struct tutti_flow_spans *spans, uint64_t epoch)
{
    enum { BATCH = 4 };
    const unsigned peers = args->ranks - 1, warps = blockDim.x / 32;
    const uint32_t turns = tutti_flow_most_units<F>(args, spans) / 32 * peers;
#pragma unroll 1
    for (uint32_t first = threadIdx.x / 32; first < turns; first += warps * BATCH) {
        typename F::held held[BATCH];
        tutti_packets_together<F>();
#pragma unroll
        for (unsigned b = 0; b < BATCH; b++) {
            const uint32_t w = first + b * warps;
            const uint32_t i = w % peers;
            const uint32_t u = w / peers * 32 + threadIdx.x % 32;
            if (w < turns && u < F::units((uint32_t)spans[i].bytes))
                F::look(spans[i].packets + F::wire(u), &held[b]);
        }
#pragma unroll
        for (unsigned b = 0; b < BATCH; b++) {
            const uint32_t w = first + b * warps;
            const uint32_t i = w % peers;
            const uint32_t u = w / peers * 32 + threadIdx.x % 32;
            const uint32_t bytes = (uint32_t)(w < turns ? spans[i].bytes : 0);
            if (w < turns && u < F::units(bytes)) {
                if (!tutti_packet_wait<F>(args, spans[i].packets + F::wire(u), epoch, tutti_flow_peer(args, i),
                                          &held[b]))
                    return 0;
                tutti_plain_store(spans[i].plain + F::data(u), F::value(&held[b]), F::valid(u, bytes),
                                  tutti_aligned((uint64_t)spans[i].plain, F::STEP));
            }
        }
    }
    return 1;
}

#include "kernels/combine_cuda.h"
#include "kernels/relay_cuda.h"

#endif
