/* The packing kernel in C, and its image for CUDA. */
#ifndef TUTTI_KERNELS_PACK_H
#define TUTTI_KERNELS_PACK_H

#include <stddef.h>

#include "kernels/pack_args.h"

/* Runs one block of a launch on the calling thread; the args' own device pointers are host pointers. */
void tutti_pack_host(const struct tutti_pack_args *args, uint32_t block);
/* Runs a launch that stays, until it leaves: one block on the calling thread, the others on threads of their own. */
void tutti_pack_stay_host(const struct tutti_pack_stay_args *args);

/* Fat binaries as in kernels/fatbin.h, not compressed: the driver takes as long to load one as it is large, so what
 * first messages need is in two by themselves. By the most bytes of struct tutti_pack_args that they take as their one
 * parameter: tutti_pack_few; tutti_pack_some and, made by nvcc 13 or later, tutti_pack_many. Launch: TUTTI_PACK_THREADS
 * threads a block, args.head.blocks blocks, no dynamic shared memory; blocks do not wait. And tutti_pack_stay, of
 * args.stay.blocks blocks, with a struct tutti_pack_stay_args. */
const void *tutti_pack_few_fatbin(void);
const void *tutti_pack_stay_fatbin(void);
const void *tutti_pack_fatbin(void); /* the others */

#endif
