#ifndef TUTTI_SHMEM_ALIKE_H
#define TUTTI_SHMEM_ALIKE_H

#include <stdint.h>

struct tutti_transport;

/* Collective: 1 if all PEs pass the same number. */
int tutti_shmem_alike(struct tutti_transport *all, int64_t mine);

#endif
