#include "kernels/shmem_kernel.h"

extern const unsigned char tutti_shmem_fatbin_begin[];

/* By the numbers of enum tshmem_type. */
#define REDUCE(type) "tutti_shmem_reduce_" #type
const char *const tutti_shmem_kernel_names[TUTTI_SHMEM_KERNELS] = {
    "tutti_shmem_kernel", REDUCE(INT8),   REDUCE(UINT8),  REDUCE(INT16),    REDUCE(UINT16),
    REDUCE(INT32),        REDUCE(UINT32), REDUCE(INT64),  REDUCE(UINT64),   REDUCE(HALF),
    REDUCE(BFLOAT16),     REDUCE(FLOAT),  REDUCE(DOUBLE), REDUCE(COMPLEXF), REDUCE(COMPLEXD),
};

const void *tutti_shmem_fatbin(void)
{
    return tutti_shmem_fatbin_begin;
}
