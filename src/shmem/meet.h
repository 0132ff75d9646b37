/* Meetings of the PEs of a team on the host: each says what it brings, and goes on when all have come.
 *
 *     struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_REDUCE, .word = {...}};
 *     status = tutti_shmem_begin(&call, team);     all are here, and brought the same
 *     ...
 *     status = tutti_shmem_end(&call, status);     all have done it
 */
#ifndef TUTTI_SHMEM_MEET_H
#define TUTTI_SHMEM_MEET_H

#include "shmem/space.h"

struct tutti_shmem_call {
    unsigned kind;
    uint64_t word[TUTTI_SHMEM_WORDS]; /* the first TUTTI_SHMEM_ALIKE: the same on all PEs */
    int refused;                      /* not TUTTI_OK: this PE has said what is wrong; it comes all the same */
    /* Set by begin: */
    const struct tshmem_team_state *team;
    struct tutti_shmem_place *place;
};

/* Its name, see tutti_shmem_said_name(). */
const char *tutti_shmem_call_name(const struct tutti_shmem_call *call);
/* A team of this PE, or NULL. */
const struct tshmem_team_state *tutti_shmem_team(struct tutti_shmem *space, tshmem_team_t team);
/* Collective over the team: the first meeting of a call. TUTTI_ERR_MISMATCH on all PEs where they did not bring the
 * same call and words, or one has refused its arguments; the call is over then. */
int tutti_shmem_begin(struct tutti_shmem *space, struct tutti_shmem_call *call, tshmem_team_t team);
/* What a member brought to the last meeting; until the next one. */
const struct tutti_shmem_said *tutti_shmem_said(struct tutti_shmem *space, const struct tutti_shmem_call *call,
                                                int member);
/* One more meeting, with the words as they are now. */
int tutti_shmem_again(struct tutti_shmem *space, struct tutti_shmem_call *call);
/* The last meeting, where status is TUTTI_OK, and the end of the call; the status. */
int tutti_shmem_end(struct tutti_shmem *space, struct tutti_shmem_call *call, int status);
/* A call that is one meeting; TUTTI_ERR_MISMATCH where others are in another one. */
int tutti_shmem_pass(struct tutti_shmem *space, tshmem_team_t team, unsigned kind);
/* SYNC or BARRIER by one of their names. */
int tutti_shmem_pass_as(struct tutti_shmem *space, tshmem_team_t team, unsigned kind, unsigned form);
/* Waits: 1 done, negative: failed; `where` is called with `with` and says in the report of a stall what is missing. All
 * PEs are told to leave where it fails. */
int tutti_shmem_await(struct tutti_shmem *space, int (*done)(struct tutti_shmem *space, void *with),
                      void (*where)(struct tutti_shmem *space, void *with, char *text, size_t size), void *with);

#endif
