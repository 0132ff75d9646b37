/* The packing kernel's environment in CUDA C++. */
#ifndef TUTTI_KERNELS_PACK_CUDA_H
#define TUTTI_KERNELS_PACK_CUDA_H

#include <stdint.h>

#include "kernels/pack_args.h"

#define TUTTI_PACK_FN           static __device__ __forceinline__
#define TUTTI_PACK_APART        static __device__ __noinline__
#define TUTTI_PACK_SYNC_WARP()  __syncwarp()
#define TUTTI_PACK_UNDEFINED(x) ((void)0) /* it has no register */

/* Compilers cannot know that it is global memory. */
TUTTI_PACK_FN unsigned char *tutti_pack_at(int64_t address)
{
    unsigned char *const at = (unsigned char *)(uintptr_t)address;
    __builtin_assume(__isGlobal(at));
    return at;
}

/* One instruction, which compilers do not find. */
TUTTI_PACK_FN int64_t tutti_pack_further(int64_t at, uint32_t steps, int32_t stride)
{
    asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(at) : "r"(steps), "r"(stride));
    return at;
}

TUTTI_PACK_FN void tutti_pack_tell(volatile uint32_t *done, uint32_t launch_number)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(done), "r"(launch_number) : "memory");
}

TUTTI_PACK_FN uint64_t tutti_pack_clock(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* ---- of the kernel that stays ---- */
#define TUTTI_PACK_SHARED(type, name)                                                                                  \
    __shared__ type name##_shared;                                                                                     \
    type *const name = &name##_shared

/* A load that acquires would empty the first cache each time. What is read at an address that such a word has brought,
 * and past the first cache, is read behind it. */
TUTTI_PACK_FN uint64_t tutti_pack_word_of(const volatile uint64_t *at)
{
    uint64_t word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}

/* For other blocks of the GPU. */
TUTTI_PACK_FN void tutti_pack_post(uint64_t *at, uint64_t word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

TUTTI_PACK_FN void tutti_pack_acquire(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

TUTTI_PACK_FN void tutti_pack_tell_near(volatile uint32_t *done, uint32_t number)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(done), "r"(number) : "memory");
}

TUTTI_PACK_FN uint8_t tutti_pack_fresh_1(const unsigned char *from)
{
    uint32_t word;
    asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return (uint8_t)word;
}

TUTTI_PACK_FN uint16_t tutti_pack_fresh_2(const unsigned char *from)
{
    uint16_t word;
    asm volatile("ld.relaxed.sys.global.u16 %0, [%1];" : "=h"(word) : "l"(from) : "memory");
    return word;
}

TUTTI_PACK_FN uint32_t tutti_pack_fresh_4(const unsigned char *from)
{
    uint32_t word;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return word;
}

TUTTI_PACK_FN uint2 tutti_pack_fresh_8(const unsigned char *from)
{
    uint2 word;
    asm volatile("ld.relaxed.sys.global.v2.u32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "l"(from) : "memory");
    return word;
}

TUTTI_PACK_FN uint4 tutti_pack_fresh_16(const unsigned char *from)
{
    uint4 word;
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from)
                 : "memory");
    return word;
}

#include "kernels/threads/pack.inc"
#include "kernels/threads/pack_stay.inc"

#endif
