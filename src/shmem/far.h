/* PEs of other nodes: the wire (wire/wire.h) of this address space, and what of meetings goes over it. All is nothing
 * where there are none. */
#ifndef TUTTI_SHMEM_FAR_H
#define TUTTI_SHMEM_FAR_H

#include "progress/engine.h"
#include "shmem/local/steps.h"
#include "shmem/space.h"

/* Local; after the heaps of this node are made. */
int tutti_shmem_far_open(struct tutti_shmem *space);
/* Local: what far PEs ask for may lie in all that is mapped now. */
void tutti_shmem_far_grow(struct tutti_shmem *space);
/* Collective over all PEs, who have met with nothing left to do: no message is left behind. Bounded. */
int tutti_shmem_far_leave(struct tutti_shmem *space);
/* Local. */
void tutti_shmem_far_close(struct tutti_shmem *space);
/* Local: what space->step does. */
void tutti_shmem_far_poll(struct tutti_shmem *space);
void tutti_shmem_far_where(struct tutti_shmem *space, char *text, size_t size);
/* Local: all far PEs are told that the address space ends. */
void tutti_shmem_far_abort(struct tutti_shmem *space);
/* Local: and that this PE ends the program with that status. */
void tutti_shmem_far_exit(struct tutti_shmem *space, int status);

/* For calls that do not wait, and that programs repeat until a far PE has done something. */
static inline void tutti_shmem_far_serve(struct tutti_shmem *space)
{
    if (__builtin_expect(space->wire != NULL, 0))
        tutti_progress_poll();
}
/* Waits until what this PE has begun at that PE (-1: all) is complete there; until it is in order. A status. */
int tutti_shmem_far_quiet(struct tutti_shmem *space, int pe);
int tutti_shmem_far_fence(struct tutti_shmem *space, int pe);

/* A team with far members. Small ones: each tells each. Of large ones nobody sends to all. */
enum { TUTTI_SHMEM_FLAT = TUTTI_SHMEM_RADIX };
static inline int tutti_shmem_is_large(const struct tshmem_team_state *team)
{
    return team->far && team->size > TUTTI_SHMEM_FLAT;
}
/* Local: room for what members of such a team bring to meetings. */
int tutti_shmem_far_team(struct tutti_shmem *space, unsigned number, int size);
/* Tells far PE `pe` that this one has come to the meeting. */
int tutti_shmem_far_arrive(struct tutti_shmem *space, const struct tshmem_team_state *team, int pe, uint64_t sequence,
                           const struct tutti_shmem_said *said);
/* The meeting of a large team: all members bring, and get what all have brought. A status, which is said; name: of the
 * call. */
int tutti_shmem_far_meet(struct tutti_shmem *space, const struct tshmem_team_state *team, uint64_t sequence,
                         const struct tutti_shmem_said *said, const char *name);
/* What a far member, or any of a large team, has brought to the meeting of that sequence. */
const struct tutti_shmem_said *tutti_shmem_far_said(struct tutti_shmem *space, const struct tshmem_team_state *team,
                                                    int member, uint64_t sequence);

#endif
