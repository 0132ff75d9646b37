/* Put with signal under delays, on a GPU. Known by C and CUDA. */
#ifndef TUTTI_TESTS_SHMEM_CUDA_ORDERED_H
#define TUTTI_TESTS_SHMEM_CUDA_ORDERED_H

#include "shmem_device/program.h"

enum { ORDER_PES = 4, ORDER_THREADS = 256, ORDER_ROUNDS = 500 /* of a launch */ };

/* Of all PEs, in device memory. */
struct order {
    const struct tshmem_state *state[ORDER_PES];
    struct program_heap *heap[ORDER_PES];
    uint64_t seed, first; /* first: number of the first round, from 1 */
    unsigned long long wrong[ORDER_PES],
        round[ORDER_PES]; /* old bytes that were read; a round in which there were some */
};

/* (struct order *order, int first): block b is PE first + b. */
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const void *const cuda_ordered_kernel;

#endif
