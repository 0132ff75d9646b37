/* Messages of device memory to ranks of other nodes, by the protocol `pipelined` (p2p/pipelined.h). As inside a node
 * (endpoints.h) the MPI matches an RTS in place of the message; the fragments follow on tutti_endpoint_box. An RTS is
 * sent synchronously, so that a send waits for its receive as one of an MPI does that is as long; what else a send
 * waits for ends without the receiver. */
#ifndef TUTTI_MPI_FAR_H
#define TUTTI_MPI_FAR_H

#include <stdatomic.h>

#include "mpi/message/endpoints.h"
#include "p2p/pipelined.h"
#include "p2p/protocols.h"

/* Not as long as the RTSs of rendezvous. */
enum { TUTTI_FAR_RTS_BYTES = 7 * TUTTI_RTS_BYTES };

struct tutti_stage;
struct tutti_recv_request;
struct tutti_far_rts; /* what a request of a send stands for */

extern struct tutti_step tutti_far_step; /* messages of which fragments are on their way */
extern atomic_int tutti_far_heard;       /* 1: some have come from other nodes */

/* Collective over MPI_COMM_WORLD, once tutti_endpoint_box is there: sets tutti_far_on, alike on all ranks. alive: the
 * device may be called. */
void tutti_far_open(struct tutti_transport *transport);
void tutti_far_close(int alive);

static inline int tutti_far_hears(void)
{
    return unlikely(tutti_far_on) && atomic_load_explicit(&tutti_far_heard, memory_order_relaxed);
}

/* ---- sender ---- */

/* 1 where the message goes in fragments; *code is what the call returns. 0: the MPI takes it. */
int tutti_far_send(const struct tutti_message *message, int *code);
int tutti_far_isend(const struct tutti_message *message, MPI_Request *request, int *code);
/* A persistent one; closes `stage`. */
int tutti_far_init(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request, int *code);
int tutti_far_start(struct tutti_far_rts *rts, MPI_Request *request);
/* The request is gone; takes NULL. */
void tutti_far_let_go(struct tutti_far_rts *rts);

/* ---- receiver ---- */

/* 1 where what was received is an RTS. */
int tutti_far_is_rts(const struct tutti_pipelined_rts *rts);

#endif
