/* PEs on one GPU, in one process: a heap in its memory and a state each. Their kernels run at once, as a launch each in
 * streams of their own, or as one cooperative launch of which each PE is a block (the sanitizers let no two launches
 * run at once). All waits are bounded: kernels' by the state's limit, the host's by a deadline, past which it sets the
 * abort words, and ends the process where that does not help either. Known by C and CUDA. */
#ifndef TUTTI_TESTS_SHMEM_CUDA_PES_H
#define TUTTI_TESTS_SHMEM_CUDA_PES_H

#include <stddef.h>
#include <stdint.h>

#include "shmem_device/program.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_pes {
    int count;
    size_t heap_bytes;
    char *heap[PROGRAM_PES];                 /* device memory */
    struct tshmem_state *state[PROGRAM_PES]; /* device memory */
    struct tshmem_state told[PROGRAM_PES];   /* the same, here */
    struct tshmem_team_state *team[PROGRAM_PES];
    uint64_t *context[PROGRAM_PES]; /* device memory */
    uint32_t *abort;                /* [PROGRAM_PES]: pinned, both see it */
};

/* Before anything else of CUDA. Ends the process with the status of a skipped test where there is no GPU. */
void cuda_begin(void);
/* What is under way: said where CUDA fails. */
extern char cuda_doing[256];
/* Ends the process, with a text, where `status`, a cudaError_t, is one. */
void cuda_must(int status, const char *what);

/* Once: memory for PROGRAM_PES PEs. heap_bytes: of which the areas of PROGRAM_TEAMS teams are the first. */
void cuda_pes_make(struct cuda_pes *pes, size_t heap_bytes);
/* Zeroed heaps and abort words, and states of `count` PEs. Kernels' waits end after limit_ms. */
void cuda_pes_open(struct cuda_pes *pes, int count, uint64_t limit_ms);
/* Writes what has been changed in `told`. */
void cuda_pes_tell(struct cuda_pes *pes);

/* Launches a kernel with `blocks` blocks and 16 bytes of dynamic shared memory into the stream of that PE. */
void cuda_pes_launch(int pe, const void *kernel, unsigned blocks, unsigned threads, void **arguments);
/* The same as a cooperative launch. */
void cuda_pes_launch_together(int pe, const void *kernel, unsigned blocks, unsigned threads, void **arguments);
/* Waits for all streams. 0: all kernels have ended in time; 1: they did when the abort words were set. */
int cuda_pes_join(struct cuda_pes *pes, double seconds);
/* What the GPU has for all launches of a test at once: blocks of that kernel. */
unsigned cuda_pes_resident(const void *kernel, unsigned threads);
double cuda_seconds(void);

#ifdef __cplusplus
}
#endif

/* Of kernels: their PE's state. A file defines CUDA_KERNELS, includes this, then tutti/device.h. Every kernel begins
 * with cuda_pe_is(), called by all of its threads. */
#if defined(__CUDACC__) && defined(CUDA_KERNELS)
extern __shared__ uint64_t cuda_pe_shared[];
#define TSHMEM_STATE() ((const struct tshmem_state *)cuda_pe_shared[0])
static __device__ __forceinline__ void cuda_pe_is(const struct tshmem_state *state)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        cuda_pe_shared[0] = (uint64_t)state;
    __syncthreads();
}
#endif

#endif
