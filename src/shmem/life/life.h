/* Who begins the address space for tshmem_init(). */
#ifndef TUTTI_SHMEM_LIFE_LIFE_H
#define TUTTI_SHMEM_LIFE_LIFE_H

#include "shmem/shmem.h"

/* Local. That of this address space, or the one that would serve tshmem_init(); NULL: there is none. */
const struct tutti_shmem_host *tutti_shmem_server(struct tutti_shmem *space);

/* Local. The front end that serves `call`, which begins the address space. NULL, with a message: there is no MPI. */
const struct tutti_shmem_host *tutti_shmem_served(const char *call);
/* Local. 1 where libtutti.so, which lies beside this library, has been loaded: never where an MPI is loaded already, in
 * front of which it would not be. */
int tutti_shmem_load_front(void);

#endif
