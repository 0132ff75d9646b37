/* The grid's family on a GPU: an image of the kernel for each of some types. Known by C and CUDA. */
#ifndef TUTTI_TESTS_SHMEM_CUDA_GRID_H
#define TUTTI_TESTS_SHMEM_CUDA_GRID_H

#include "shmem_device/grid_cases.h"
#include "shmem_device/program.h"

enum { GRID_OF_THREAD = 2 /* elements of a thread, at most */ };
enum { GRID_CALLS = 3, GRID_PITCH = 21504 }; /* GRID_CALLS vectors lie in heap->gotten, the results in heap->out */

struct cuda_grid {
    /* (struct grid_case what, const struct tshmem_state *state, struct program_heap *heap): all blocks are one PE's.
     * The first word of heap->results counts what has not returned 0. */
    const void *kernel;
    int type; /* enum tshmem_type */
};

/* (uint32_t *came, uint32_t all, uint32_t *gave_up): adds 1, and waits for half a second until there are `all`. */
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const void *const cuda_grid_probe;

/* ROW(number) */
#define CUDA_GRID_LIST(ROW) ROW(0) ROW(1) ROW(2) ROW(3) ROW(4)

#ifdef GRID_IMAGE
#if GRID_IMAGE == 0
#define GRID_NAME cuda_grid_0
#define GRID_TYPE TSHMEM_INT32
#elif GRID_IMAGE == 1
#define GRID_NAME cuda_grid_1
#define GRID_TYPE TSHMEM_ID_FLOAT
#elif GRID_IMAGE == 2
#define GRID_NAME cuda_grid_2
#define GRID_TYPE TSHMEM_ID_HALF
#elif GRID_IMAGE == 3
#define GRID_NAME cuda_grid_3
#define GRID_TYPE TSHMEM_UINT8
#else
#define GRID_NAME cuda_grid_4
#define GRID_TYPE TSHMEM_ID_COMPLEXD
#endif
#endif

#endif
