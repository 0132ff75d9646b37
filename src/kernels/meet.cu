/* The kernel in which ranks meet, for CUDA. */
#include <stddef.h>
#include <stdint.h>

#include "kernels/meet_args.h"
#define TUTTI_DEV_MEET_WORDS 4
#include "tutti/device/meet.h"

#include "kernels/meet.inc"

extern "C" __global__ void __launch_bounds__(TUTTI_MEET_THREADS, 1)
    tutti_meet_kernel(const __grid_constant__ struct tutti_meet_args args)
{
    tutti_meet_block(&args, blockIdx.x);
}
