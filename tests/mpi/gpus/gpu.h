/* GPUs as a program meets them, without Tutti: the calls of the maker's runtime, for simulated GPUs those of
 * device/host/program.h, for NVIDIA's the driver's, which is opened when the program first asks for it. Failures end
 * the process. A GPU is an ordinal of this process; a card is its number on the machine. */
#ifndef TUTTI_TESTS_GPU_H
#define TUTTI_TESTS_GPU_H

#include <stddef.h>

/* Which cards this process sees, in this order. Before all others. */
void gpu_see(const int *cards, int n);
/* Initialises the driver, without a context; the number of GPUs. */
int gpu_count(void);
/* Chooses the calling thread's GPU, and makes a context there. */
void gpu_set(int gpu);
/* Memory of `gpu`; the calling thread's GPU stays what it is, where it has one. */
void *gpu_alloc(int gpu, size_t bytes);
void gpu_free(int gpu, void *memory);
/* Between host memory and memory of `gpu`. */
void gpu_copy(int gpu, void *to, const void *from, size_t bytes);
/* The maker's synchronous calls as they are: a copy within `gpu`, and a fill, which may return before they are
 * complete. */
void gpu_copy_within(int gpu, void *to, const void *from, size_t bytes);
void gpu_fill(int gpu, void *to, unsigned char byte, size_t bytes);
/* Resets the GPU, which becomes the calling thread's. */
void gpu_reset(int gpu);
/* 1 if somebody has made a context on the GPU; -1: unknown. */
int gpu_has_context(int gpu);
/* Broken rules of the simulated GPUs so far. */
unsigned long gpu_violations(void);

#endif
