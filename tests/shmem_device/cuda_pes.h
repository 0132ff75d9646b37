/* PEs on one GPU, or one after the other on all GPUs of the machine that reach each other, in one process: a heap in
 * memory of its GPU and a state each. Their kernels run at once, as a launch each in streams of their own, or as one
 * cooperative launch of which each PE is a block (the sanitizers let no two launches run at once), then on one GPU.
 * TUTTI_TEST_GPUS: how many GPUs at most. All waits are bounded: kernels' by the state's limit, the host's by a
 * deadline, past which it sets the abort words, and ends the process where that does not help either. Known by C and
 * CUDA. */
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
    int gpu[PROGRAM_PES];    /* on which each PE is */
    char *heap[PROGRAM_PES]; /* memory of that GPU, as what follows */
    struct tshmem_state *state[PROGRAM_PES];
    struct tshmem_state told[PROGRAM_PES]; /* the same, here */
    struct tshmem_team_state *team[PROGRAM_PES];
    uint64_t *context[PROGRAM_PES]; /* device memory */
    uint32_t *abort;                /* [PROGRAM_PES]: pinned, both see it */
};

/* Before anything else of CUDA: says which GPUs are used, and makes them reach each other. Ends the process with the
 * status of a skipped test where there is no GPU. GPU 0 is current afterwards. */
void cuda_begin(void);
/* GPUs that are used: 0, 1, 2 ... */
int cuda_gpus(void);
/* What is under way: said where CUDA fails. */
extern char cuda_doing[256];
/* Ends the process, with a text, where `status`, a cudaError_t, is one. */
void cuda_must(int status, const char *what);

/* Once: memory for PROGRAM_PES PEs. heap_bytes: of which the areas of PROGRAM_TEAMS teams are the first. */
void cuda_pes_make(struct cuda_pes *pes, size_t heap_bytes);
/* Zeroed heaps and abort words, and states of `count` PEs. Kernels' waits end after limit_ms. spread: PE i is on GPU
 * i % cuda_gpus(); 0: all are on GPU 0. */
void cuda_pes_open(struct cuda_pes *pes, int count, uint64_t limit_ms, int spread);
/* Writes what has been changed in `told`. */
void cuda_pes_tell(struct cuda_pes *pes);
/* Makes the GPU of that PE the current one. */
void cuda_pes_on(const struct cuda_pes *pes, int pe);
/* Waits for what the host has asked of all GPUs, as copies and clearing: not while kernels run. */
void cuda_pes_settle(const char *what);

/* Loads it on all GPUs: at a launch that would wait for kernels that run. */
void cuda_pes_load(const void *kernel);
/* Launches a kernel with `blocks` blocks and 16 bytes of dynamic shared memory into the stream of that PE, on its GPU.
 */
void cuda_pes_launch(const struct cuda_pes *pes, int pe, const void *kernel, unsigned blocks, unsigned threads,
                     void **arguments);
/* The same as a cooperative launch. */
void cuda_pes_launch_together(const struct cuda_pes *pes, int pe, const void *kernel, unsigned blocks, unsigned threads,
                              void **arguments);
/* Called, where there is one, before the process ends since kernels have not: says where they stand. */
extern void (*cuda_pes_say)(void);
/* Waits for all streams. 0: all kernels have ended in time; 1: they did when the abort words were set. */
int cuda_pes_join(struct cuda_pes *pes, double seconds);
/* What a GPU has for all launches of a test at once: blocks of that kernel. */
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
