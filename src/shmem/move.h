/* What collectives of the address space share: checks of their arguments, and where members' objects lie. */
#ifndef TUTTI_SHMEM_MOVE_H
#define TUTTI_SHMEM_MOVE_H

#include "shmem/meet.h"

/* Offset of an object of `bytes` bytes in the heap; the call is refused where it is not all in there. 0 of no bytes. */
uint64_t tutti_shmem_offset(struct tutti_shmem_call *call, const void *address, size_t bytes);
/* a * b; the call is refused where that is too much. */
size_t tutti_shmem_product(struct tutti_shmem_call *call, size_t a, size_t b);
/* PEs of a team, 1 where it is none. */
int tutti_shmem_members(tshmem_team_t team);

/* What lies at `offset` in the heap of a member. */
static inline void *tutti_shmem_of(const struct tutti_shmem_call *call, int member, uint64_t offset)
{
    return tutti_shmem.base[call->team->world[member]] + offset;
}

#endif
