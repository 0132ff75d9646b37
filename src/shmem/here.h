/* The address space of this process, for the functions of the C API, which have no argument for it. Each function
 * asks for it once and passes it on: nothing below knows that there is one per process. tests/laws/here.py checks
 * this. */
#ifndef TUTTI_SHMEM_HERE_H
#define TUTTI_SHMEM_HERE_H

#include "shmem/space.h"

extern struct tutti_shmem tutti_shmem_process; /* only for tutti_shmem_here() */

static inline struct tutti_shmem *tutti_shmem_here(void)
{
    return &tutti_shmem_process;
}

#endif
