/* Of the examples whose kernels wait for partitions: two streams, and device memory. */
#ifndef EXAMPLES_WAITING_H
#define EXAMPLES_WAITING_H

#include "kernels.h"

#include <tutti/tutti.h>

#ifdef __CUDACC__
/* Streams of their own, so that a kernel that waits holds up no other work. */
static cudaStream_t streams[2];
#define LAUNCH(which, kernel, ...) kernel<<<BLOCKS, THREADS, 0, streams[which]>>>(__VA_ARGS__)
#else
#define LAUNCH(which, kernel, ...) kernel(__VA_ARGS__)
#endif

static void synchronise(void)
{
#ifdef __CUDACC__
    const cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess)
        stop("a kernel", cudaGetErrorString(status));
#endif
}

static int *memory(size_t bytes)
{
    void *device = NULL;
    if (tutti_alloc(bytes, &device) != 0)
        stop("tutti_alloc", "no memory");
    return (int *)device;
}

#endif
