/* The address space of this process, for the functions of the C API, which have no argument for it. Each of them asks
 * for it once and hands it on: nothing below them knows that there is one a process. tests/laws/here.py holds the
 * sources to that. */
#ifndef TUTTI_SHMEM_HERE_H
#define TUTTI_SHMEM_HERE_H

#include "shmem/space.h"

extern struct tutti_shmem tutti_shmem_process; /* by tutti_shmem_here() alone */

static inline struct tutti_shmem *tutti_shmem_here(void)
{
    return &tutti_shmem_process;
}

#endif
