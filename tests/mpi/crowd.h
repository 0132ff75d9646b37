/* Kernels of the program that fill a CUDA GPU. */
#ifndef TUTTI_TESTS_CROWD_H
#define TUTTI_TESTS_CROWD_H

#include <stdint.h>

/* Loads the kernel into the calling thread's context; 0 where there is no CUDA GPU. */
int crowd_open(void);
/* Puts a kernel of many more blocks than a GPU holds into the stream, each of which spins for so many cycles of its
 * clock. Returns CUDA's error. Safe from any thread that has chosen the GPU. */
int crowd_put(void *stream, uint64_t cycles);
/* The same of so many blocks. */
int crowd_put_blocks(void *stream, unsigned blocks, uint64_t cycles);

#endif
