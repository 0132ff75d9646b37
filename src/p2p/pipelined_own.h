/* Private to pipelined*.c. */
#ifndef TUTTI_P2P_PIPELINED_OWN_H
#define TUTTI_P2P_PIPELINED_OWN_H

#include <pthread.h>

#include "p2p/pipelined.h"
#include "sched/sched.h"

struct tutti_pipelined {
    struct tutti_transport *transport;
    struct tutti_fragments *fragments;
    struct tutti_step *step;
    uint64_t key[2];
    int first_tag, tags;
    pthread_mutex_t fetching; /* protects the receives' begun and in */
    pthread_mutex_t lock;     /* protects everything below */
    uint64_t sequence, *used;
    struct tutti_last_rts *last_rts; /* RTSs that were taken: the last of each sender and tag */
    struct tutti_outgoing *spare;    /* with schedules that can be started again */
    int spares;
};

/* Fragment i of a message of n. */
static inline uint64_t tutti_fragment_bytes(uint64_t bytes, uint64_t fragment, uint64_t n, uint64_t i)
{
    return i + 1 < n ? fragment : bytes - i * fragment;
}

enum { TUTTI_FRAGMENTS_MOST = 65536 }; /* of a message */

/* pipelined.c. Records that the RTS is taken: see tutti_incoming_start(). */
int tutti_pipelined_note_rts(struct tutti_pipelined *p, const struct tutti_pipelined_rts *rts);
/* The lock is held. The least free tag, so that receivers remember few; or -1. */
int tutti_pipelined_take_tag(struct tutti_pipelined *p);
void tutti_pipelined_give_tag(struct tutti_pipelined *p, int tag);
/* pipelined_out.c: frees the spare ones. */
void tutti_outgoing_spare(struct tutti_pipelined *p);

#endif
