/* Shared by collectives of the address space: checks of arguments, and addresses of members' objects. */
#ifndef TUTTI_SHMEM_MOVE_H
#define TUTTI_SHMEM_MOVE_H

#include "shmem/meet.h"

/* Offset of an object of `bytes` bytes in the heap; refuses the call if a part of it lies outside. 0 for no bytes. */
uint64_t tutti_shmem_offset(struct tutti_shmem *space, struct tutti_shmem_call *call, const void *address,
                            size_t bytes);
/* The same for an object that is only read. */
uint64_t tutti_shmem_source_offset(struct tutti_shmem *space, struct tutti_shmem_call *call, const void *address,
                                   size_t bytes);
/* a * b; refuses the call on overflow. */
size_t tutti_shmem_product(struct tutti_shmem *space, struct tutti_shmem_call *call, size_t a, size_t b);
/* This PE's slice of a reduction of n elements of all members, at these offsets: sets all of the job but type, op
 * and shape. Returns the bytes of the slice; *zero: target of as many zeros, NULL: none. */
size_t tutti_shmem_slices(struct tutti_shmem *space, struct tutti_shmem_job *job, const struct tshmem_team_state *team,
                          uint64_t dest, uint64_t source, size_t n, void **zero);
/* PEs of a team, 1 if it is not a team. */
int tutti_shmem_members(struct tutti_shmem *space, tshmem_team_t team);

/* The address of `offset` in the heap of a member. */
static inline void *tutti_shmem_of(struct tutti_shmem *space, const struct tutti_shmem_call *call, int member,
                                   uint64_t offset)
{
    return space->base[tutti_shmem_pe_of(space, call->team, member)] + offset;
}

#endif
