/* Meetings of a team's PEs on the host: each PE contributes, and continues when all have arrived.
 *
 * struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_REDUCE, .word = {...}};
 * status = tutti_shmem_begin(&call, team);        all are here, with the same contribution
 * ...
 * status = tutti_shmem_end(&call, status);        all have done the call */
#ifndef TUTTI_SHMEM_MEET_H
#define TUTTI_SHMEM_MEET_H

#include "shmem/space.h"

struct tutti_shmem_call {
    unsigned kind;
    uint64_t word[TUTTI_SHMEM_WORDS]; /* the first TUTTI_SHMEM_ALIKE must be the same on all PEs */
    int refused;                      /* not TUTTI_OK: this PE has reported an error; it arrives all the same */
    /* Set by begin: */
    const struct tshmem_team_state *team;
    struct tutti_shmem_place *place;
};

/* Its name, see tutti_shmem_contribution_name(). */
const char *tutti_shmem_call_name(const struct tutti_shmem_call *call);
/* A team of this PE, or NULL. */
const struct tshmem_team_state *tutti_shmem_team(struct tutti_shmem *space, tshmem_team_t team);
/* Collective over the team: the first meeting of a call. TUTTI_ERR_MISMATCH on all PEs if their calls or words
 * differ, or if one PE has refused its arguments; then the call is over. */
int tutti_shmem_begin(struct tutti_shmem *space, struct tutti_shmem_call *call, tshmem_team_t team);
/* The contribution of a member to the last meeting; valid until the next one. */
const struct tutti_shmem_contribution *tutti_shmem_contribution(struct tutti_shmem *space,
                                                                const struct tutti_shmem_call *call, int member);
/* One more meeting, with the current words. */
int tutti_shmem_again(struct tutti_shmem *space, struct tutti_shmem_call *call);
/* The last meeting, if status is TUTTI_OK, and the end of the call; the status. */
int tutti_shmem_end(struct tutti_shmem *space, struct tutti_shmem_call *call, int status);
/* A call that is one meeting; TUTTI_ERR_MISMATCH if other members are in another call. */
int tutti_shmem_pass(struct tutti_shmem *space, tshmem_team_t team, unsigned kind);
/* SYNC or BARRIER, called by one of their names. */
int tutti_shmem_pass_as(struct tutti_shmem *space, tshmem_team_t team, unsigned kind, unsigned form);
/* Waits: 1: done, negative: failed. The report of a stall calls `where` with `with` for the missing peers. After a
 * failure all PEs leave their waits. */
int tutti_shmem_await(struct tutti_shmem *space, int (*done)(struct tutti_shmem *space, void *with),
                      void (*where)(struct tutti_shmem *space, void *with, char *text, size_t size), void *with);

#endif
