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

/* What stands there is global memory, which compilers cannot know. */
TUTTI_PACK_FN unsigned char *tutti_pack_at(int64_t address)
{
    unsigned char *const at = (unsigned char *)(uintptr_t)address;
#ifdef __CUDACC__
    __builtin_assume(__isGlobal(at));
#endif
    return at;
}

/* `steps` (less than 2^31) strides further. */
TUTTI_PACK_FN int64_t tutti_pack_further(int64_t at, uint32_t steps, int32_t stride)
{
#ifdef __CUDACC__ /* one instruction, which compilers do not find */
    asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(at) : "r"(steps), "r"(stride));
    return at;
#else
    return at + (int64_t)(int32_t)steps * stride;
#endif
}

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

/* The two aligned units that hold 16 bytes which may be anywhere. */
struct tutti_pack_pair {
    uint4 a, b;
};
#define TUTTI_PACK_PAIR struct tutti_pack_pair

/* 1 where both lie in [low, high). */
TUTTI_PACK_FN int tutti_pack_fits(const unsigned char *from, const unsigned char *low, const unsigned char *high)
{
    const unsigned char *const at = from - ((uintptr_t)from & 15);
    return at >= low && high - at >= 32;
}

/* Bytes [x0, x1) of the 16 at `from`, where they fit. The others are undefined. */
TUTTI_PACK_FN struct tutti_pack_pair tutti_pack_fetch(const unsigned char *from, unsigned x0, unsigned x1)
{
    const unsigned lead = (unsigned)((uintptr_t)from & 15);
    const unsigned char *const at = from - lead;
    struct tutti_pack_pair held;
#ifndef __CUDACC__ /* what is undefined stands in no register there */
    held.a = held.b = make_uint4(0, 0, 0, 0);
#endif
    if (x0 < x1 && x0 + lead < 16)
        held.a = *(const uint4 *)at;
    if (x0 < x1 && x1 + lead > 16)
        held.b = *(const uint4 *)(at + 16);
    return held;
}

/* Brings to its place what was fetched from `from`. */
TUTTI_PACK_FN uint4 tutti_pack_shifted(struct tutti_pack_pair held, const unsigned char *from)
{
    const unsigned lead = (unsigned)((uintptr_t)from & 15);
    uint32_t w0 = held.a.x, w1 = held.a.y, w2 = held.a.z, w3 = held.a.w;
    uint32_t w4 = held.b.x, w5 = held.b.y, w6 = held.b.z;
    if (lead & 8) {
        w0 = w2;
        w1 = w3;
        w2 = w4;
        w3 = w5;
        w4 = w6;
        w5 = held.b.w;
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

/* The same, wherever they lie: loads stay in [low, high). */
TUTTI_PACK_FN uint4 tutti_pack_any(const unsigned char *from, unsigned x0, unsigned x1, const unsigned char *low,
                                   const unsigned char *high)
{
    const unsigned lead = (unsigned)((uintptr_t)from & 15);
    struct tutti_pack_pair held;
    if (tutti_pack_fits(from, low, high)) {
        held = tutti_pack_fetch(from, x0, x1);
    } else {
        held.a = held.b = make_uint4(0, 0, 0, 0);
        if (x0 + lead < 16)
            held.a = tutti_pack_edge(from - lead, low, high);
        if (x1 + lead > 16)
            held.b = tutti_pack_edge(from - lead + 16, low, high);
    }
    return tutti_pack_shifted(held, from);
}

/* Bytes before `cut` (1 to 15) of the first, the others of the second. */
TUTTI_PACK_FN uint4 tutti_pack_joined(uint4 before, uint4 behind, unsigned cut)
{
    const uint32_t ones = ~(uint32_t)0, part = ~(ones << cut % 4 * 8);
    const uint32_t m0 = cut >= 4 ? ones : part, m3 = cut >= 12 ? part : 0;
    const uint32_t m1 = cut >= 8 ? ones : cut >= 4 ? part : 0, m2 = cut >= 12 ? ones : cut >= 8 ? part : 0;
    return make_uint4((before.x & m0) | (behind.x & ~m0), (before.y & m1) | (behind.y & ~m1),
                      (before.z & m2) | (behind.z & ~m2), (before.w & m3) | (behind.w & ~m3));
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
TUTTI_PACK_FN void tutti_pack_tell(volatile uint32_t *done, uint32_t launch_number)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(done), "r"(launch_number) : "memory");
}
#endif

/* The last block to come here tells the host; what all blocks stored is visible to whoever sees it. */
TUTTI_PACK_FN void tutti_pack_end(const struct tutti_pack_args *args, uint32_t block)
{
    (void)block;
    if (args->head.launch_number == 0)
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
        *args->head.done = args->head.launch_number;
    } else {
        tutti_pack_tell(args->head.done, args->head.launch_number);
    }
}

#include "kernels/pack.inc"

#endif
