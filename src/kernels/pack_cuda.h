/* The packing kernel's environment in CUDA C++: a block is TUTTI_PACK_THREADS threads. */
#ifndef TUTTI_KERNELS_PACK_CUDA_H
#define TUTTI_KERNELS_PACK_CUDA_H

#include <stdint.h>

#include "kernels/pack_args.h"

#define TUTTI_PACK_FN              static __device__ __forceinline__
#define TUTTI_PACK_THREAD          threadIdx.x
#define TUTTI_PACK_STEP            ((unsigned)TUTTI_PACK_THREADS)
#define TUTTI_PACK_LANES           32u
#define TUTTI_PACK_LANE            (threadIdx.x & 31)
#define TUTTI_PACK_WARP            (threadIdx.x >> 5)
#define TUTTI_PACK_WARPS           (TUTTI_PACK_STEP / 32)
#define TUTTI_PACK_SYNC()          __syncthreads()
#define TUTTI_PACK_SYNC_WARP()     __syncwarp()
#define TUTTI_PACK_UNROLLED        _Pragma("unroll")
#define TUTTI_PACK_ROLLED          _Pragma("unroll 1")
#define TUTTI_PACK_HIGH(a, b)      __umulhi(a, b)
#define TUTTI_PACK_WORD(bytes)     TUTTI_PACK_NAME(tutti_pack_word, bytes)
#define TUTTI_PACK_NAME(x, bytes)  TUTTI_PACK_NAME_(x, bytes)
#define TUTTI_PACK_NAME_(x, bytes) x##_##bytes

typedef uint8_t tutti_pack_word_1;
typedef uint16_t tutti_pack_word_2;
typedef uint32_t tutti_pack_word_4;
typedef uint2 tutti_pack_word_8;
typedef uint4 tutti_pack_word_16;

/* The aligned 16 bytes at `at`; where some of them lie outside [low, high), those that lie inside. */
static __device__ __noinline__ uint4 tutti_pack_edge(const unsigned char *at, const unsigned char *low,
                                                     const unsigned char *high)
{
    uint32_t word[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 16; i++) {
        if (at + i >= low && at + i < high)
            word[i / 4] |= (uint32_t)at[i] << i % 4 * 8;
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

TUTTI_PACK_FN uint4 tutti_pack_aligned(const unsigned char *at, const unsigned char *low, const unsigned char *high)
{
    return at >= low && at + 16 <= high ? *(const uint4 *)at : tutti_pack_edge(at, low, high);
}

/* Bytes [x0, x1) of the 16 at `from`, which may be anywhere; loads stay in [low, high). The others are undefined. */
TUTTI_PACK_FN uint4 tutti_pack_any(const unsigned char *from, unsigned x0, unsigned x1, const unsigned char *low,
                                   const unsigned char *high)
{
    const unsigned lead = (unsigned)((uintptr_t)from & 15);
    const unsigned char *const at = from - lead;
    uint4 a = make_uint4(0, 0, 0, 0), b = a;
    if (x0 + lead < 16)
        a = tutti_pack_aligned(at, low, high);
    if (x1 + lead > 16)
        b = tutti_pack_aligned(at + 16, low, high);
    if (lead == 0)
        return a;
    uint32_t w0 = a.x, w1 = a.y, w2 = a.z, w3 = a.w, w4 = b.x, w5 = b.y, w6 = b.z;
    if (lead & 8) {
        w0 = w2;
        w1 = w3;
        w2 = w4;
        w3 = w5;
        w4 = w6;
        w5 = b.w;
    }
    if (lead & 4) {
        w0 = w1;
        w1 = w2;
        w2 = w3;
        w3 = w4;
        w4 = w5;
    }
    const unsigned bits = (lead & 3) * 8;
    return make_uint4(__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits), __funnelshift_r(w2, w3, bits),
                      __funnelshift_r(w3, w4, bits));
}

TUTTI_PACK_FN void tutti_pack_put_word(unsigned char *to, uint32_t word, unsigned at, unsigned x0, unsigned x1)
{
    if (x0 <= at && at + 4 <= x1) {
        *(uint32_t *)(to + at) = word;
    } else {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            if (at + i >= x0 && at + i < x1)
                to[at + i] = (unsigned char)(word >> i * 8);
        }
    }
}

/* Bytes [x0, x1) of the aligned 16 at `to`. */
TUTTI_PACK_FN void tutti_pack_put(unsigned char *to, uint4 held, unsigned x0, unsigned x1)
{
    if (x0 == 0 && x1 == 16) {
        *(uint4 *)to = held;
        return;
    }
    tutti_pack_put_word(to, held.x, 0, x0, x1);
    tutti_pack_put_word(to, held.y, 4, x0, x1);
    tutti_pack_put_word(to, held.z, 8, x0, x1);
    tutti_pack_put_word(to, held.w, 12, x0, x1);
}

/* The dynamic place of a word in registers: `value` of `word` bytes becomes bytes x and on. */
TUTTI_PACK_FN void tutti_pack_insert(uint4 *held, uint64_t value, unsigned x, unsigned word)
{
    const unsigned bits = x % 8 * 8;
    const uint64_t mask = (word == 8 ? ~(uint64_t)0 : ((uint64_t)1 << word * 8) - 1) << bits;
    uint64_t low = (uint64_t)held->y << 32 | held->x, high = (uint64_t)held->w << 32 | held->z;
    if (x < 8)
        low = (low & ~mask) | value << bits;
    else
        high = (high & ~mask) | value << bits;
    *held = make_uint4((uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32));
}

TUTTI_PACK_FN uint64_t tutti_pack_extract(const uint4 *held, unsigned x)
{
    const uint64_t low = (uint64_t)held->y << 32 | held->x, high = (uint64_t)held->w << 32 | held->z;
    return (x < 8 ? low : high) >> x % 8 * 8;
}

/* n bytes at `from` become bytes x and on of *held, word by word; all are multiples of a word. */
TUTTI_PACK_FN void tutti_pack_collect(uint4 *held, const unsigned char *from, unsigned x, unsigned n, unsigned word)
{
    if (word == 16) {
        *held = *(const uint4 *)from;
        return;
    }
#pragma unroll 1
    for (unsigned k = 0; k < n; k += word) {
        uint64_t value;
        if (word == 8)
            value = *(const uint64_t *)(from + k);
        else if (word == 4)
            value = *(const uint32_t *)(from + k);
        else if (word == 2)
            value = *(const uint16_t *)(from + k);
        else
            value = from[k];
        tutti_pack_insert(held, value, x + k, word);
    }
}

TUTTI_PACK_FN void tutti_pack_spill(unsigned char *to, const uint4 *held, unsigned x, unsigned n, unsigned word)
{
    if (word == 16) {
        *(uint4 *)to = *held;
        return;
    }
#pragma unroll 1
    for (unsigned k = 0; k < n; k += word) {
        const uint64_t value = tutti_pack_extract(held, x + k);
        if (word == 8)
            *(uint64_t *)(to + k) = value;
        else if (word == 4)
            *(uint32_t *)(to + k) = (uint32_t)value;
        else if (word == 2)
            *(uint16_t *)(to + k) = (uint16_t)value;
        else
            to[k] = (unsigned char)value;
    }
}

#ifdef __CUDACC__
TUTTI_PACK_FN void tutti_pack_tell(volatile uint32_t *done, uint32_t ticket)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(done), "r"(ticket) : "memory");
}
#endif

/* The last block to come here tells the host; what all blocks stored is visible to whoever sees it. */
TUTTI_PACK_FN void tutti_pack_end(const struct tutti_pack_args *args, uint32_t block)
{
    (void)block;
    if (args->head.ticket == 0)
        return;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    if (args->head.blocks > 1) {
        __threadfence();
        if (atomicInc(args->head.ended, args->head.blocks - 1) != args->head.blocks - 1)
            return;
    }
    if (args->head.near) { /* whoever reads it reads it from the GPU's second cache: no need to wait for more */
        __threadfence();
        *args->head.done = args->head.ticket;
    } else {
        tutti_pack_tell(args->head.done, args->head.ticket);
    }
}

#include "kernels/pack.inc"

#endif
