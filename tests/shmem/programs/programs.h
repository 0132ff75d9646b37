/* Random programs of the global address space: what programs.c and bytes.c share. */
#ifndef TUTTI_TESTS_SHMEM_PROGRAMS_H
#define TUTTI_TESTS_SHMEM_PROGRAMS_H

#include "shmem/kit.h"

enum { PES = 8 };

/* Transfers of bytes of any length and alignment, of every element size, from and to memory of the host, of the GPU and
 * of the heap, through pointers, and atomics of all sizes that give back what was there. */

/* Collective. Takes symmetric memory; 0: there is none. */
int bytes_open(void);
void bytes_close(void);
/* Collective. Forgets what was there. */
void bytes_begin(void);
/* Collective. What all PEs do in a step of the program, and a look at what has come. The call ends with a barrier. */
void bytes_step(uint64_t program, uint64_t step);
/* Collective, over all PEs. A collective call that is drawn, of any type, size and lengths. */
void bytes_collective(uint64_t program, uint64_t step);

#endif
