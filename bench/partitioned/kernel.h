/* The kernel of tutti bench partitioned, which makes data and marks its partitions as ready, and the two that run it: a
 * library made by nvcc, and the host device. It knows no MPI. */
#ifndef TUTTI_BENCH_PART_KERNEL_H
#define TUTTI_BENCH_PART_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/prequest.h"

#ifdef __CUDACC__
#define PART_BOTH static inline __host__ __device__ __attribute__((unused))
#else
#define PART_BOTH static inline __attribute__((unused))
#endif

/* The threads that mark a partition together. NONE: the kernel marks nothing. */
enum part_group { PART_BY_NONE, PART_BY_THREAD, PART_BY_WARP, PART_BY_BLOCK };
enum { PART_THREADS = 256, PART_WARPS = PART_THREADS / 32 };

struct part_launch {
    int group;      /* enum part_group */
    int blocks;     /* of the grid */
    int parts;      /* partitions of a block */
    uint64_t words; /* of 4 bytes, of a block; a multiple of parts */
    int real;       /* 1: words are float */
    uint64_t seed;
    uint32_t *out; /* device memory, blocks * words */
    MPIX_Prequest request;
};

/* Word i of the data of a seed. Of float: whole numbers below 256, whose sums are exact in any order. */
PART_BOTH uint32_t part_word(uint64_t seed, uint64_t i)
{
    uint64_t x = (seed + i) * 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return (uint32_t)(x >> 32);
}
PART_BOTH float part_real(uint64_t seed, uint64_t i)
{
    return (float)(part_word(seed, i) >> 24);
}

struct part_kernels {
    /* Once. 0, or another number after a report. */
    int (*open)(int gpu);
    /* Local. Puts the kernel into a stream of the GPU. 0, or another number after a report. */
    int (*launch)(const struct part_launch *launch, void *stream);
};

#define PART_KERNELS_SYMBOL "tutti_bench_part_kernels"

#endif
