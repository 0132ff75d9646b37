/* The kernel in which ranks meet, in C, and its image for CUDA. */
#ifndef TUTTI_KERNELS_MEET_H
#define TUTTI_KERNELS_MEET_H

#include "kernels/meet_args.h"

/* Runs one block of a launch on the calling thread; all addresses in the args are as this thread has them. */
void tutti_meet_host_block(const struct tutti_meet_args *args, unsigned block);

/* A compressed fat binary as in kernels/fatbin.h, with the kernel tutti_meet_kernel. Launch: the args by value,
 * TUTTI_MEET_THREADS threads a block. Blocks wait for nothing. */
const void *tutti_meet_fatbin(void);

#endif
