/* What collectives do on the heaps of all members, near and far. */
#ifndef TUTTI_SHMEM_SPREAD_H
#define TUTTI_SHMEM_SPREAD_H

#include "shmem/space.h"

/* As in struct tutti_shmem_kind. To far heaps: complete past tutti_shmem_end(). */
int tutti_shmem_move_all(const struct tutti_shmem_part *parts, size_t n);
int tutti_shmem_clear_all(void *at, size_t bytes);
int tutti_shmem_reduce_all(const struct tutti_shmem_job *job);

#endif
