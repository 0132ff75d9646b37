/* The front end that begins the address space for tshmem_init(). */
#ifndef TUTTI_SHMEM_LIFE_LIFE_H
#define TUTTI_SHMEM_LIFE_LIFE_H

#include "shmem/shmem.h"

/* Local. The front end of this address space, or the one that would serve tshmem_init(); NULL: none exists. */
const struct tutti_shmem_host *tutti_shmem_server(struct tutti_shmem *space);

/* Local. The front end that serves `call`, which begins the address space. NULL, after an error message: there is no
 * MPI. */
const struct tutti_shmem_host *tutti_shmem_served(const char *call);
/* Local. 1 if libtutti.so, which lies beside this library, has been loaded. It is not loaded once an MPI is loaded,
 * because it would not be in front of that MPI. */
int tutti_shmem_load_front(void);

#endif
