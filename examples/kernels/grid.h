/* Blocks and threads of a grid, in one source for CUDA and for the host device, where a kernel is a function of C that
 * one thread calls. The examples and the bench of kernels (bench/shmem) share it. */
#ifndef EXAMPLE_GRID_H
#define EXAMPLE_GRID_H

#ifdef __CUDACC__
#include <cooperative_groups.h>

#ifndef KERNEL
#define KERNEL static __global__ void
#endif
#define DEVICE static __device__ __attribute__((unused))
#define BOTH   static __host__ __device__ __attribute__((unused))

DEVICE int block(void)
{
    return (int)blockIdx.x;
}
DEVICE int blocks(void)
{
    return (int)gridDim.x;
}
DEVICE int thread(void)
{
    return (int)threadIdx.x;
}
DEVICE int threads(void)
{
    return (int)blockDim.x;
}
DEVICE void block_sync(void)
{
    __syncthreads();
}
/* All threads of this PE's grid. */
DEVICE void grid_sync(void)
{
    cooperative_groups::this_grid().sync();
}
#else
#define KERNEL static void
#define DEVICE static inline __attribute__((unused))
#define BOTH   static inline __attribute__((unused))

DEVICE int block(void)
{
    return 0;
}
DEVICE int blocks(void)
{
    return 1;
}
DEVICE int thread(void)
{
    return 0;
}
DEVICE int threads(void)
{
    return 1;
}
DEVICE void block_sync(void)
{
}
DEVICE void grid_sync(void)
{
}
#endif

#endif
