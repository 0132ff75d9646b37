/* The kernel of the global address space in stream order, see shmem.inc and shmem_args.h. In C it is entered here; the
 * compiled ones for CUDA are an image of their own. */
#ifndef TUTTI_KERNELS_SHMEM_KERNEL_H
#define TUTTI_KERNELS_SHMEM_KERNEL_H

#include "kernels/shmem_args.h"

/* Runs one block on the calling thread. All addresses in the args are as this thread has them. */
void tutti_shmem_host_block(const struct tutti_shmem_args *args, unsigned block);
/* A compressed fat binary as in kernels/fatbin.h, and the names of its kernels: [0] of all but reductions, then of the
 * reductions of each type. */
enum { TUTTI_SHMEM_KERNELS = 15 };
const void *tutti_shmem_fatbin(void);
extern const char *const tutti_shmem_kernel_names[TUTTI_SHMEM_KERNELS];

/* 1 if a launch is of the kernels of reductions; which of the kernels it is of. */
static inline int tutti_shmem_reduces(const struct tutti_shmem_args *args)
{
    return args->what >= TUTTI_SHMEM_DO_REDUCE && args->what <= TUTTI_SHMEM_DO_EXSCAN;
}

static inline int tutti_shmem_kernel_of(const struct tutti_shmem_args *args)
{
    return tutti_shmem_reduces(args) ? 1 + args->type : 0;
}

#endif
