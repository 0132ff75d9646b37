/* The kernels' environment in CUDA C++: a block is up to TUTTI_FATBIN_THREADS threads, whole warps; peers' windows are
 * mapped memory. The bodies for blocks of threads (threads/) are written in what CUDA C++ and HIP have in common
 * (threadIdx, __syncthreads, atomicAdd, uint4); what this file and tutti/device/env_cuda.h define is all else that they
 * need. */
#ifndef TUTTI_KERNELS_ENV_CUDA_H
#define TUTTI_KERNELS_ENV_CUDA_H

#include <stdint.h>

#include "core/types.h"
#include "kernels/args.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/fatbin.h"
#include "tutti/device/env.h"
#include "tutti/device/operators.h"

#define TUTTI_FN                    static __device__ __forceinline__
#define TUTTI_APART                 static __device__ __noinline__
#define TUTTI_WARP_SYNC()           __syncwarp()
#define TUTTI_WARP_ANY(x)           __any_sync(0xffffffffu, x)
#define TUTTI_WARP_ALL(x)           __all_sync(0xffffffffu, x)
#define TUTTI_WARP_FROM(data, lane) __shfl_sync(0xffffffffu, data, lane)

/* Threads of a row, blockDim.x of them, meet; 1 if `x` is not 0 for one of them. Barriers of a block: 1 + its row. */
TUTTI_FN void tutti_row_sync(void)
{
    asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.y), "r"(blockDim.x) : "memory");
}

TUTTI_FN int tutti_row_any(int x)
{
    int any;
    asm volatile("{\n\t.reg .pred one, all;\n\t"
                 "setp.ne.s32 one, %1, 0;\n\t"
                 "bar.red.or.pred all, %2, %3, one;\n\t"
                 "selp.s32 %0, 1, 0, all;\n\t}"
                 : "=r"(any)
                 : "r"(x), "r"(1 + threadIdx.y), "r"(blockDim.x)
                 : "memory");
    return any;
}

enum {
    TUTTI_SPINS_CHECK = 256,     /* between two looks at the clock */
    TUTTI_ASK_NS = 20000,        /* between two looks of a GPU at the abort word, which is in host memory */
    TUTTI_LONG_WAIT_NS = 1000000 /* a wait of this length reports its place */
};

/* Launched early: returns when the launch before has ended. */
TUTTI_FN void tutti_early_wait(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The next launch may start. The block's part is done when one thread has called this. */
TUTTI_FN void tutti_flow_let_go(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Between two looks of a wait that many blocks make. */
TUTTI_FN void tutti_wait_pause(void)
{
    __nanosleep(20);
}

/* A packet of tutti/device/packet.h, in words of 32 bits. The packet's own functions are not used: with them the
 * kernels take 2 to 5 registers more (nvcc 13.0, sm_90). */
TUTTI_FN void tutti_store_shared_quad(unsigned char *to, uint32_t x, uint32_t flag, uint32_t z)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(to), "r"(x), "r"(flag), "r"(z) : "memory");
}

TUTTI_FN uint4 tutti_load_shared_quad(const unsigned char *from)
{
    uint4 v;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

TUTTI_FN void tutti_store_shared_pair(unsigned char *to, uint64_t a, uint64_t b)
{
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b) : "memory");
}

TUTTI_FN void tutti_load_shared_pair(const unsigned char *from, uint64_t *a, uint64_t *b)
{
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(*a), "=l"(*b) : "l"(from) : "memory");
}

/* Loads past the first cache. */
TUTTI_FN uint4 tutti_fresh_quad(const unsigned char *from)
{
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

TUTTI_FN uint64_t tutti_fresh_u64(const unsigned char *from)
{
    uint64_t v;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(v) : "l"(from) : "memory");
    return v;
}

TUTTI_FN uint32_t tutti_fresh_u32(const unsigned char *from)
{
    uint32_t v;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return v;
}

TUTTI_FN uint8_t tutti_fresh_u8(const unsigned char *from)
{
    uint32_t v;
    asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return (uint8_t)v;
}

#endif
