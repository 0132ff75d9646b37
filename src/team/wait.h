/* Waits of a team: the engine's wait (progress/engine.h) with a look after the peers, reports and limits of a team, and
 * what peers may need of this rank meanwhile. Private to team/.
 *
 *     struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_VOTE, mask);
 *     status = tutti_await(&w, done, with);
 */
#ifndef TUTTI_TEAM_WAIT_H
#define TUTTI_TEAM_WAIT_H

#include <stdint.h>

#include "core/clock.h"
#include "core/status.h"
#include "progress/pause.h"

struct tutti_team;

enum tutti_waiting_for {
    TUTTI_WAITING_ARRIVAL,
    TUTTI_WAITING_VOTE,
    TUTTI_WAITING_OFFER, /* the vote before a team is opened */
    TUTTI_WAITING_DESCRIPTOR,
    TUTTI_WAITING_DONE,
    TUTTI_WAITING_BOARD,
    TUTTI_WAITING_KERNEL
};

struct tutti_waiting {
    struct tutti_team *team;
    enum tutti_waiting_for what;
    uint64_t of;      /* ranks waited for */
    int patient;      /* 1: a rank that has given up, but is not lost, does not end the wait */
    int reported;     /* the stall has been reported */
    unsigned looks;   /* of tutti_await_near() so far */
    uint64_t last;    /* time of the last look; 0: none yet */
    uint64_t waited;  /* time waited so far; a stop of this process does not count */
    uint64_t checked; /* `waited` when peers were last looked after */
    uint64_t still;   /* `waited` when those waited for were last seen to go on with nonblocking calls */
    uint64_t steps;   /* that they had made then, together */
    uint64_t doomed;  /* kernels: `waited` when a peer was first seen gone; it may have done its part before */
};

/* 1 if ranks may be at different calls after such a failure of one of them. */
static inline int tutti_wait_is_lost(int status)
{
    return status == TUTTI_ERR_PEER || status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_TIMEOUT;
}

struct tutti_waiting tutti_waiting(struct tutti_team *team, enum tutti_waiting_for what, uint64_t of);
/* Until done() says 1; see struct tutti_wait. Logs failures, breaks nothing. */
int tutti_await(struct tutti_waiting *waiting, int (*done)(void *with), void *with);
/* The same for what a rank of this node stores, which may need this rank's core and nothing that the transport brings:
 * it yields at once, and looks at the transport and the peers, which may take several system calls, now and then only.
 */
int tutti_await_near(struct tutti_waiting *waiting, int (*done)(void *with), void *with);
/* One look and one pause, for kernels that run on this thread and wait. TUTTI_OK: go on waiting. */
int tutti_wait_look(struct tutti_waiting *waiting);

/* 1 if sequence number `a` is at or past `b`. */
static inline int tutti_reached(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) >= 0;
}

#endif
