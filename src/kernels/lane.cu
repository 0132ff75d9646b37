/* The lane kernel for CUDA. */
#include <stddef.h>
#include <stdint.h>

#include "kernels/lane_args.h"
#include "tutti/device/env.h"
#include "tutti/device/copy.h"

enum { TUTTI_LANE_LOOKS = 256, TUTTI_LANE_LONG_NS = 1000000 };
#define TUTTI_LANE_SHARED __shared__

/* What many blocks look at must get through. */
TUTTI_DEV int tutti_lane_rest(const struct tutti_lane_args *args, unsigned looks)
{
    (void)args;
    if (looks > 16)
        __nanosleep(20);
    return 0;
}

#include "kernels/lane.inc"

extern "C" __global__ void __launch_bounds__(TUTTI_LANE_THREADS, 1)
    tutti_lane_kernel(const __grid_constant__ struct tutti_lane_args args)
{
    tutti_lane_block(&args, blockIdx.x);
}

/* TUTTI_LANE_DO: by itself, since the other launches take fewer registers, and since short parameters start sooner. */
struct tutti_lane_short {
    alignas(struct tutti_lane_args) unsigned char bytes[offsetof(struct tutti_lane_args, match)];
};

extern "C" __global__ void __launch_bounds__(TUTTI_LANE_THREADS, 1)
    tutti_lane_do_kernel(const __grid_constant__ struct tutti_lane_short args)
{
    tutti_lane_do_block((const struct tutti_lane_args *)&args, blockIdx.x);
}

extern "C" __global__ void __launch_bounds__(TUTTI_LANE_THREADS, 1)
    tutti_lane_group_kernel(const __grid_constant__ struct tutti_lane_args args)
{
    tutti_lane_group_block(&args, blockIdx.x);
}
