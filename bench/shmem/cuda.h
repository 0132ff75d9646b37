/* Blocks and threads of CUDA for the kernel, and its launch; included by the two files that nvcc compiles. */
#ifndef TUTTI_BENCH_GAS_CUDA_H
#define TUTTI_BENCH_GAS_CUDA_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gas.h"

#define KERNEL static __global__ void __launch_bounds__(GAS_THREADS)
#include "../../examples/kernels/grid.h"

#define SHARED     __shared__
#define GAS_SHARED GAS_THREADS

DEVICE uint64_t clock_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

static cudaStream_t gas_stream;
static uint64_t *gas_times; /* pinned: begin and end of each block */

static int gas_failed(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return 0;
    fprintf(stderr, "tutti: %s: %s\n", what, cudaGetErrorString(status));
    return -1;
}

typedef void (*gas_kernel)(struct gas_call c);

/* kernels: all of them are loaded now. */
static int gas_cuda_open(int gpu, const gas_kernel kernels[GAS_OPERATIONS])
{
    cudaFuncAttributes about;
    void *times;
    if (gas_failed(cudaSetDevice(gpu), "choosing a GPU") ||
        gas_failed(cudaStreamCreateWithFlags(&gas_stream, cudaStreamNonBlocking), "a stream") ||
        gas_failed(cudaHostAlloc(&times, 2 * GAS_BLOCKS * sizeof(uint64_t), 0), "pinned memory"))
        return -1;
    for (int i = 0; i < GAS_OPERATIONS; i++) {
        if (kernels[i] && gas_failed(cudaFuncGetAttributes(&about, (const void *)kernels[i]), "loading a kernel"))
            return -1;
    }
    gas_times = (uint64_t *)times;
    return 0;
}

static double gas_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All blocks of a cooperative launch run at once, which is what waits need. Waits, but not forever: a peer may be
 * gone. */
static double gas_cuda_run(gas_kernel kernel, const struct gas_call *call, unsigned blocks, unsigned threads,
                           double seconds)
{
    struct gas_call c = *call;
    void *arguments[] = {&c};
    c.begin = gas_times;
    c.end = gas_times + GAS_BLOCKS;
    memset(gas_times, 0, 2 * GAS_BLOCKS * sizeof(uint64_t));
    if (gas_failed(
            cudaLaunchCooperativeKernel((const void *)kernel, dim3(blocks), dim3(threads), arguments, 0, gas_stream),
            "a launch"))
        return -1;
    const double start = gas_now(), deadline = start + seconds;
    cudaError_t status;
    while ((status = cudaStreamQuery(gas_stream)) == cudaErrorNotReady) {
        if (gas_now() > deadline) {
            fprintf(stderr, "tutti: a kernel has not ended in %.0f seconds\n", seconds);
            return -1;
        }
        /* Times are of the GPU's clock: in a long launch the host sleeps. */
        const struct timespec nap = {0, 100000};
        if (gas_now() - start > 2e-3)
            nanosleep(&nap, NULL);
    }
    if (gas_failed(status, "a kernel"))
        return -1;
    uint64_t from = c.begin[0], to = c.end[0];
    for (unsigned b = 1; b < blocks; b++) {
        from = c.begin[b] < from ? c.begin[b] : from;
        to = c.end[b] > to ? c.end[b] : to;
    }
    const unsigned timed = c.rounds - c.rounds / 5;
    return (double)(to - from) / timed;
}

#endif
