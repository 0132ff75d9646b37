/* PEs of other nodes: the wire (wire/wire.h) of this address space, and what of meetings goes over it. All is nothing
 * where there are none. */
#ifndef TUTTI_SHMEM_FAR_H
#define TUTTI_SHMEM_FAR_H

#include "progress/engine.h"
#include "shmem/space.h"

/* Local; after the heaps of this node are made. */
int tutti_shmem_far_open(struct tutti_shmem *space);
/* Local: what far PEs ask for may lie in all that is mapped now. */
void tutti_shmem_far_grow(struct tutti_shmem *space);
/* Collective over all PEs, who have met with nothing left to do: no message is left behind. Bounded. */
int tutti_shmem_far_leave(void);
/* Local. */
void tutti_shmem_far_close(struct tutti_shmem *space);
/* Local: all far PEs are told that the address space ends. */
void tutti_shmem_far_abort(void);

/* For calls that do not wait, and that programs repeat until a far PE has done something. */
static inline void tutti_shmem_far_serve(void)
{
    if (__builtin_expect(tutti_shmem.wire != NULL, 0))
        tutti_progress_poll();
}
/* Waits until what this PE has begun at that PE (-1: all) is complete there; until it is in order. A status. */
int tutti_shmem_far_quiet(int pe);
int tutti_shmem_far_fence(int pe);

/* Tells a far PE that this one, member `me` of the team, has come to the meeting. */
int tutti_shmem_far_arrive(int pe, uint32_t team, int me, uint64_t sequence, const struct tutti_shmem_said *said);
/* What a far PE has brought to the meeting of that sequence. */
const struct tutti_shmem_said *tutti_shmem_far_said(int pe, uint32_t team, uint64_t sequence);

#endif
