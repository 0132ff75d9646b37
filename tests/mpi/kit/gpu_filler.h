/* Kernels of the program that fill a CUDA GPU. */
#ifndef TUTTI_TESTS_GPU_FILLER_H
#define TUTTI_TESTS_GPU_FILLER_H

#include <stdint.h>

/* Loads the kernel into the calling thread's context; 0 if there is no CUDA GPU. */
int gpu_filler_open(void);
/* Puts a kernel of many more blocks than a GPU holds into the stream, each of which spins for so many cycles of its
 * clock. Returns CUDA's error. Safe from any thread that has chosen the GPU. */
int gpu_filler_put(void *stream, uint64_t cycles);
/* The same of so many blocks. */
int gpu_filler_put_blocks(void *stream, unsigned blocks, uint64_t cycles);

#endif
