/* The packing kernel for CUDA, by the room that its parameter has; see pack.h. TUTTI_PACK_IMAGE: the kernels of one image
 * alone: 0: the one for few messages, 1: the one that stays, 2: the others. */
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

#if !defined(TUTTI_PACK_IMAGE) || TUTTI_PACK_IMAGE == 0
TUTTI_PACK_KERNEL(few, TUTTI_PACK_FEW_BYTES)
#endif

#if !defined(TUTTI_PACK_IMAGE) || TUTTI_PACK_IMAGE == 1
extern "C" __global__ void __launch_bounds__(TUTTI_PACK_THREADS, 2)
    tutti_pack_stay(const __grid_constant__ struct tutti_pack_stay_args args)
{
    __shared__ __align__(16) unsigned char stage[TUTTI_PACK_STAGE];
    __shared__ struct tutti_pack_mailed call;
    tutti_pack_stay_block(&args, &call, stage);
}
#endif

#if !defined(TUTTI_PACK_IMAGE) || TUTTI_PACK_IMAGE == 2
TUTTI_PACK_KERNEL(some, TUTTI_PACK_SOME_BYTES)
#if __CUDACC_VER_MAJOR__ >= 13 /* drivers that can load this code know parameters of more than 4 KiB */
TUTTI_PACK_KERNEL(many, TUTTI_PACK_MANY_BYTES)
#endif
#endif
