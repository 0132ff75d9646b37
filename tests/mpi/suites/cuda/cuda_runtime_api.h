/* The calls of CUDA's runtime that MPICH's tests use: device and managed memory are memory of the host device, which a
 * program may read and write as its own while TUTTI_HOST_STRICT is 0. Without the library all memory is ordinary. */
#ifndef TUTTI_TESTS_CUDA_RUNTIME_API_H
#define TUTTI_TESTS_CUDA_RUNTIME_API_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef int cudaError_t;
enum { cudaSuccess, cudaErrorMemoryAllocation = 2, cudaMemAttachGlobal = 1, cudaMemcpyDefault = 4 };

int tutti_alloc(size_t bytes, void **device) __attribute__((weak));
int tutti_free(void *device) __attribute__((weak));

static inline cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

static inline cudaError_t cudaSetDevice(int device)
{
    (void)device;
    return cudaSuccess;
}

static inline cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    *memory = calloc(1, bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaFreeHost(void *memory)
{
    free(memory);
    return cudaSuccess;
}

static inline cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    if (!tutti_alloc)
        return cudaMallocHost(memory, bytes);
    return tutti_alloc(bytes, memory) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return cudaMalloc(memory, bytes);
}

static inline cudaError_t cudaFree(void *memory)
{
    if (tutti_free)
        tutti_free(memory);
    else
        free(memory);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

#endif
