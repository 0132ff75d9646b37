/* Operations on words and elements that the host loads and stores. */
#ifndef TUTTI_SHMEM_HOST_H
#define TUTTI_SHMEM_HOST_H

#include "shmem/kind.h"

/* amo_host.c, reduce_host.c: as in struct tutti_shmem_kind. The address space is not used. */
uint64_t tutti_shmem_amo_host(struct tutti_shmem *space, int operation, void *at, size_t bytes, uint64_t value,
                              uint64_t compare);
int tutti_shmem_reduce_host(struct tutti_shmem *space, const struct tutti_shmem_job *job);
/* copy_host.c: as memmove, but that the elements of the first and of the last 64 bytes are stored once each. */
void tutti_shmem_copy_host(void *to, const void *from, size_t bytes);
/* Bytes of an element of enum tshmem_type; the operator of ops.def that an enum tshmem_op is. */
size_t tutti_shmem_type_size(int type);
int tutti_shmem_operator(int op);

#endif
