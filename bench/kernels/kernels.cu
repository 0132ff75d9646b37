/* The kernel that measures on a GPU, of PE BENCH_PE. */
#include "tutti/device.h"

#include "bench.h"

#define KERNEL static __global__ void __launch_bounds__(1024)
#define DEVICE static __device__ __noinline__

static __device__ int block(void)
{
    return (int)blockIdx.x;
}
static __device__ int blocks(void)
{
    return (int)gridDim.x;
}
static __device__ int thread(void)
{
    return (int)threadIdx.x;
}
static __device__ void block_sync(void)
{
    __syncthreads();
}
static __device__ uint64_t clock_ns(void)
{
    return tutti_dev_clock_ns();
}

#define IN_FORM(call, ...)                                                                                             \
    do {                                                                                                               \
        if (c.group == BENCH_BLOCK)                                                                                    \
            call##_block(__VA_ARGS__);                                                                                 \
        else if (c.group == BENCH_WARP)                                                                                \
            call##_warp(__VA_ARGS__);                                                                                  \
        else                                                                                                           \
            call(__VA_ARGS__);                                                                                         \
    } while (0)

#include "calls.inc"

#if BENCH_PE == 0
const struct bench_pe bench_pe_0 = {(const void *)bench_kernel, tshmem_bind_here};
#else
const struct bench_pe bench_pe_1 = {(const void *)bench_kernel, tshmem_bind_here};
#endif
