/* PEs of other nodes: the wire (wire/wire.h) of this address space, and meetings over it. All functions do nothing
 * if there are no far PEs. */
#ifndef TUTTI_SHMEM_FAR_H
#define TUTTI_SHMEM_FAR_H

#include "progress/engine.h"
#include "shmem/local/steps.h"
#include "shmem/space.h"

/* Local; called once the heaps of this node exist. */
int tutti_shmem_far_open(struct tutti_shmem *space);
/* Local: far PEs may address everything that is mapped now. */
void tutti_shmem_far_grow(struct tutti_shmem *space);
/* Collective over all PEs, which have met and have nothing under way: no message is left behind. Bounded. */
int tutti_shmem_far_leave(struct tutti_shmem *space);
/* Local. */
void tutti_shmem_far_close(struct tutti_shmem *space);
/* Local: the function of space->step. */
void tutti_shmem_far_poll(struct tutti_shmem *space);
void tutti_shmem_far_where(struct tutti_shmem *space, char *text, size_t size);
/* Local: notifies all far PEs that the address space ends. */
void tutti_shmem_far_abort(struct tutti_shmem *space);
/* Local: notifies them too that this PE ends the program with that status. */
void tutti_shmem_far_exit(struct tutti_shmem *space, int status);

/* For calls that do not wait and that programs repeat until a far PE has acted. */
static inline void tutti_shmem_far_serve(struct tutti_shmem *space)
{
    if (__builtin_expect(space->wire != NULL, 0))
        tutti_progress_poll();
}
/* quiet: waits until everything that this PE has begun at that PE (-1: at all) is complete there. fence: until it is
 * ordered. A status. */
int tutti_shmem_far_quiet(struct tutti_shmem *space, int pe);
int tutti_shmem_far_fence(struct tutti_shmem *space, int pe);

/* A team with far members. In a small team each member sends to each. In a large one no member sends to all. */
enum { TUTTI_SHMEM_FLAT = TUTTI_SHMEM_RADIX };
static inline int tutti_shmem_is_large(const struct tshmem_team_state *team)
{
    return team->far && team->size > TUTTI_SHMEM_FLAT;
}
/* Local: memory for the contributions of such a team's members to meetings. */
int tutti_shmem_far_team(struct tutti_shmem *space, unsigned number, int size);
/* Sends far PE `pe` the arrival of this PE at the meeting. */
int tutti_shmem_far_arrive(struct tutti_shmem *space, const struct tshmem_team_state *team, int pe, uint64_t sequence,
                           const struct tutti_shmem_contribution *contribution);
/* The meeting of a large team: each member contributes, and receives the contributions of all. A status, after an
 * error message; name: of the call. */
int tutti_shmem_far_meet(struct tutti_shmem *space, const struct tshmem_team_state *team, uint64_t sequence,
                         const struct tutti_shmem_contribution *contribution, const char *name);
/* The contribution of a far member, or of any member of a large team, to the meeting of that sequence. */
const struct tutti_shmem_contribution *
tutti_shmem_far_said(struct tutti_shmem *space, const struct tshmem_team_state *team, int member, uint64_t sequence);

#endif
