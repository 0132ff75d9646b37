/* The packing kernel for CUDA, by the room that its parameter has; see pack.h. */
#include "kernels/pack_cuda.h"

#define TUTTI_PACK_KERNEL(name, size)                                                                                  \
    struct tutti_pack_##name##_args {                                                                                  \
        struct tutti_pack_head head;                                                                                   \
        uint64_t pool[((size) - sizeof(struct tutti_pack_head)) / 8];                                                  \
    };                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(TUTTI_PACK_THREADS, 4)                                                \
        tutti_pack_##name(const __grid_constant__ struct tutti_pack_##name##_args args)                                \
    {                                                                                                                  \
        __shared__ __align__(16) unsigned char stage[TUTTI_PACK_STAGE];                                                \
        tutti_pack_block((const struct tutti_pack_args *)&args, blockIdx.x, stage);                                    \
    }

extern "C" __global__ void __launch_bounds__(TUTTI_PACK_THREADS, 2)
    tutti_pack_stay(const __grid_constant__ struct tutti_pack_stay_args args)
{
    __shared__ __align__(16) unsigned char stage[TUTTI_PACK_STAGE];
    __shared__ struct tutti_pack_mailed call;
    tutti_pack_stay_block(&args, &call, stage);
}

TUTTI_PACK_KERNEL(few, TUTTI_PACK_FEW_BYTES)
TUTTI_PACK_KERNEL(some, TUTTI_PACK_SOME_BYTES)
#if __CUDACC_VER_MAJOR__ >= 13 /* drivers that can load this code know parameters of more than 4 KiB */
TUTTI_PACK_KERNEL(many, TUTTI_PACK_MANY_BYTES)
#endif
