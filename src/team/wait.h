/* The one engine of all waits on the host: spins, yields or sleeps, lets the transport progress, looks after peers,
 * reports stalls and ends at the time limit. Private to team/.
 *
 *     struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_VOTE, mask);
 *     while (!condition)
 *         if ((status = tutti_wait(&w)) != TUTTI_OK) ...
 */
#ifndef TUTTI_TEAM_WAIT_H
#define TUTTI_TEAM_WAIT_H

#include <stdint.h>

#include "core/clock.h"
#include "core/status.h"

struct tutti_team;

enum tutti_waiting_for {
    TUTTI_WAITING_ARRIVAL,
    TUTTI_WAITING_VOTE,
    TUTTI_WAITING_OFFER, /* the vote before a team is opened */
    TUTTI_WAITING_DESCRIPTOR,
    TUTTI_WAITING_DONE,
    TUTTI_WAITING_KERNEL
};

struct tutti_waiting {
    struct tutti_team *team;
    enum tutti_waiting_for what;
    uint64_t of;      /* ranks waited for */
    uint32_t spins;   /* since the last look */
    uint32_t limit;   /* spins between looks */
    uint32_t sleep;   /* next sleep in microseconds */
    int reported;     /* the stall has been said */
    uint64_t last;    /* time of the last look; 0: none yet */
    uint64_t waited;  /* time waited so far; a stop of this process does not count */
    uint64_t checked; /* `waited` when peers were last looked after */
    uint64_t doomed;  /* kernels: `waited` when a peer was first seen gone; it may have done its part before */
};

struct tutti_waiting tutti_waiting(struct tutti_team *team, enum tutti_waiting_for what, uint64_t of);
/* A look: progress, peers, stall, limit; pauses by the policy. TUTTI_OK: go on waiting. Logs failures, breaks nothing.
 */
int tutti_wait_look(struct tutti_waiting *waiting);

static inline int tutti_wait(struct tutti_waiting *waiting)
{
    if (++waiting->spins < waiting->limit) {
        tutti_pause();
        return TUTTI_OK;
    }
    waiting->spins = 0;
    return tutti_wait_look(waiting);
}

/* 1 where sequence number `a` is at or past `b`. */
static inline int tutti_reached(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) >= 0;
}

#endif
