/* The kernel of the global address space for CUDA: one for what moves data and waits, one a type for reductions. */
#include "kernels/shmem_args.h"

/* Parameters: the args by value. TUTTI_SHMEM_THREADS threads a block or fewer, whole warps. The state is in the args of the launch. */
static __shared__ const struct tshmem_state *tutti_shmem_here;
#define TSHMEM_STATE() tutti_shmem_here
#include "tutti/device.h"

#include "kernels/shmem.inc"

/* Launched early, where the GPU can: nothing of the launch before may be missed. The next one may come up at once. */
TUTTI_DEV void tutti_ordered_begin(const struct tutti_shmem_args *args)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    if (threadIdx.x == 0)
        tutti_shmem_here = &args->state;
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(TUTTI_SHMEM_THREADS)
    tutti_shmem_kernel(const __grid_constant__ struct tutti_shmem_args args)
{
    tutti_ordered_begin(&args);
    const int status = args.blocks > 1 ? tutti_spread_do(&args, blockIdx.x) : tutti_ordered_do(&args);
    if (status != TUTTI_DEV_OK)
        tutti_ordered_tell(&args, status);
}

#define TUTTI_SHMEM_REDUCE_KERNEL(ID, number)                                                                          \
    extern "C" __global__ void __launch_bounds__(TUTTI_SHMEM_THREADS)                                                  \
        tutti_shmem_reduce_##ID(const __grid_constant__ struct tutti_shmem_args args)                              \
    {                                                                                                                  \
        tutti_ordered_begin(&args);                                                                                      \
        const int status =                                                                                             \
            args.blocks > 1 ? tutti_spread_reduce(&args, number, blockIdx.x) : tutti_ordered_reduce(&args, number);    \
        if (status != TUTTI_DEV_OK)                                                                                    \
            tutti_ordered_tell(&args, status);                                                                           \
    }
TUTTI_DEV_TYPES(TUTTI_SHMEM_REDUCE_KERNEL)
