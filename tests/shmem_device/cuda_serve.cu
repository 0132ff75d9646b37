/* What the proxy launches for an atomic. */
#define CUDA_KERNELS
#include "shmem_device/cuda_pes.h"

#include "tutti/device.h"

#include "shmem_device/cuda_serve.h"

static __global__ void amo(struct cuda_amo a)
{
    const uint64_t was = a.size == 4 ? tutti_dev_amo32(a.what, a.at, a.value, a.compare)
                                     : tutti_dev_amo64(a.what, a.at, a.value, a.compare);
    if (a.was)
        *a.was = was;
    __threadfence_system();
}

const void *const cuda_amo_kernel = (const void *)amo;
