/* The lane kernel in C, and its image for CUDA. */
#ifndef TUTTI_KERNELS_LANE_H
#define TUTTI_KERNELS_LANE_H

#include "kernels/lane_args.h"

/* Runs one block of a launch on the calling thread; all addresses in the args are as this thread has them. */
void tutti_lane_host_block(const struct tutti_lane_args *args, unsigned block);

/* A compressed fat binary as in kernels/fatbin.h, with the kernels tutti_lane_do_kernel, of TUTTI_LANE_DO,
 * tutti_lane_group_kernel, of TUTTI_LANE_GROUP, and tutti_lane_kernel, of all others. Launch: the args by value (the
 * first one takes what lies before `match`), TUTTI_LANE_THREADS threads a block or fewer, whole warps; all blocks must
 * be resident. */
const void *tutti_lane_fatbin(void);

#endif
