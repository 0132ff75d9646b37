/* Who begins the address space for tshmem_init(). */
#ifndef TUTTI_SHMEM_LIFE_LIFE_H
#define TUTTI_SHMEM_LIFE_LIFE_H

#include "shmem/shmem.h"

/* Local. That of this address space, or the one that would serve tshmem_init(); NULL: there is none. */
const struct tutti_shmem_host *tutti_shmem_server(void);

#endif
