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

/* No load behind it is served from what the multiprocessor has kept from before. A load that acquires waits for no
 * store, as a fence would. */
TUTTI_PACK_FN uint64_t tutti_pack_word_of(const volatile struct tutti_pack_mail *mail, unsigned i)
{
    uint64_t word;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(&mail->word[i]) : "memory");
    return word;
}

#define TUTTI_PACK_SHARED __shared__

TUTTI_PACK_FN unsigned long long tutti_pack_swap(volatile unsigned long long *at, unsigned long long from,
                                                 unsigned long long to)
{
    return atomicCAS((unsigned long long *)at, from, to);
}

/* Barrier 1: the workers and a warp that wakes them; 2: the workers. */
#define TUTTI_PACK_BARRIER(how, barrier, threads)                                                                      \
    asm volatile("bar." how " " #barrier ", %0;" ::"n"((threads) + 0) : "memory")
#define tutti_pack_workers_wait() TUTTI_PACK_BARRIER("sync", 1, TUTTI_PACK_WORKERS + 32)
#define tutti_pack_workers_wake() TUTTI_PACK_BARRIER("arrive", 1, TUTTI_PACK_WORKERS + 32)
#define tutti_pack_workers_meet() TUTTI_PACK_BARRIER("sync", 2, TUTTI_PACK_WORKERS)

#include "kernels/threads/pack.inc"
#include "kernels/threads/pack_stay.inc"

#endif
