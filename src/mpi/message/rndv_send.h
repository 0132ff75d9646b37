/* A send by rendezvous while it is under way. Private to rndv*.c. */
#ifndef TUTTI_MPI_RNDV_SEND_H
#define TUTTI_MPI_RNDV_SEND_H

#include <stdatomic.h>

#include "core/lock.h"
#include "mpi/message/rndv.h"
#include "team/endpoint/seen.h"

enum tutti_send_state {
    TUTTI_SEND_ON_ITS_WAY,
    TUTTI_SEND_LEFT, /* out of the program's buffer, and the request is complete */
    TUTTI_SEND_OUT   /* and out of the list */
};

struct tutti_send_request {
    struct tutti_send_request *next;
    struct tutti_message message;
    struct tutti_p2p_send core;           /* its plan is held; NULL: a staged message, without a rendezvous */
    const struct tutti_protocol_row *row; /* row that posted it */
    MPI_Request rts;                      /* of the MPI: the short message */
    MPI_Request request;                  /* the program's, where `tag` is not -1 */
    int tag, borrowed;                    /* borrowed: of a persistent request */
    _Atomic(enum tutti_send_state) state;
    int freed, code;
    int rts_bytes;                       /* of `text` */
    int plan_held;                       /* 1: core.elements.plan; those of predefined types stay anyhow */
    int claimed;                         /* 1: the call that waits completes the request, see request.h */
    int given_up;                        /* the program has freed its request */
    unsigned char text[TUTTI_RTS_BYTES]; /* the last member: it is not cleared */
};

/* rndv_progress.c. A new request without a plan, from those that have ended, so that messages allocate nothing. NULL
 * without memory. destroy: gives it back. */
struct tutti_send_request *tutti_send_new(const struct tutti_message *message);
void tutti_send_destroy(struct tutti_send_request *sent);

/* rndv_send.c: sends the RTS of a new rendezvous, which must be listed; NULL if there is no rendezvous, or the RTS
 * cannot be sent (*code is the error then). memory: of the buffer's address. blocking: this thread does nothing else
 * until the data have left. */
struct tutti_send_request *tutti_send_begin(const struct tutti_message *message, const struct tutti_memory *memory,
                                            int blocking, int *code);
/* rndv_progress.c: polls it from now on, until the program does not use it any more either. */
void tutti_send_list(struct tutti_send_request *sent);
/* Of a staged message that is not listed: 1 if the MPI has sent it, so that there is nothing to be polled. */
int tutti_send_is_over(struct tutti_send_request *sent);
/* While it is held no thread polls the sends. */
extern struct tutti_lock tutti_sends_lock;
/* 0: the request is complete already. */
int tutti_send_claim(struct tutti_send_request *sent) TUTTI_HOLDS(tutti_sends_lock);
/* Completes the request if the data have left. */
void tutti_send_unclaim(struct tutti_send_request *sent);
/* 1 if the data have left the program's buffer, and a synchronous message is received. */
static inline int tutti_send_has_left(const struct tutti_send_request *sent)
{
    return atomic_load_explicit(&sent->state, memory_order_acquire) != TUTTI_SEND_ON_ITS_WAY;
}
/* Waits until the data have left the program's buffer, and a synchronous message is received. */
void tutti_send_await(struct tutti_send_request *sent);

#endif
