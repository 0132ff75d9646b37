/* The kernel for CUDA, as a library that the ranks of the bench open. */
#include <cuda_runtime.h>
#include <stdio.h>

#include "../../examples/kernels/grid.h"

#include "kernel.h"

#include <tutti/device/prequest.h>

#include "fill.inc"

static int part_failed(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return 0;
    fprintf(stderr, "tutti: %s: %s\n", what, cudaGetErrorString(status));
    return -1;
}

static int part_open(int gpu)
{
    cudaFuncAttributes about;
    if (part_failed(cudaSetDevice(gpu), "choosing a GPU"))
        return -1;
    return part_failed(cudaFuncGetAttributes(&about, (const void *)part_fill), "loading a kernel");
}

static int part_launch(const struct part_launch *launch, void *stream)
{
    part_fill<<<launch->blocks, PART_THREADS, 0, (cudaStream_t)stream>>>(*launch);
    return part_failed(cudaGetLastError(), "a launch");
}

extern "C" __attribute__((visibility("default"))) const struct part_kernels tutti_bench_part_kernels;
const struct part_kernels tutti_bench_part_kernels = {part_open, part_launch};
