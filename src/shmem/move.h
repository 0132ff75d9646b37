/* What collectives of the address space share: checks of their arguments, and where members' objects lie. */
#ifndef TUTTI_SHMEM_MOVE_H
#define TUTTI_SHMEM_MOVE_H

#include "shmem/meet.h"

/* Offset of an object of `bytes` bytes in the heap; the call is refused where it is not all in there. 0 of no bytes. */
uint64_t tutti_shmem_offset(struct tutti_shmem *space, struct tutti_shmem_call *call, const void *address,
                            size_t bytes);
/* The same of what is only read. */
uint64_t tutti_shmem_source_offset(struct tutti_shmem *space, struct tutti_shmem_call *call, const void *address,
                                   size_t bytes);
/* a * b; the call is refused where that is too much. */
size_t tutti_shmem_product(struct tutti_shmem *space, struct tutti_shmem_call *call, size_t a, size_t b);
/* This PE's slice of a reduction of n elements of all members, which lie at the offsets: sets all of the job but type,
 * op and shape. Its bytes; *zero: where as many bytes of zeros go, NULL: nowhere. */
size_t tutti_shmem_slices(struct tutti_shmem *space, struct tutti_shmem_job *job, const struct tshmem_team_state *team,
                          uint64_t dest, uint64_t source, size_t n, void **zero);
/* PEs of a team, 1 where it is none. */
int tutti_shmem_members(struct tutti_shmem *space, tshmem_team_t team);

/* What lies at `offset` in the heap of a member. */
static inline void *tutti_shmem_of(struct tutti_shmem *space, const struct tutti_shmem_call *call, int member,
                                   uint64_t offset)
{
    return space->base[tutti_shmem_pe_of(space, call->team, member)] + offset;
}

#endif
