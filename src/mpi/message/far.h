/* Messages of device memory to ranks of other nodes, by the protocol `pipelined` (p2p/pipelined.h). As inside a node
 * (endpoints.h) the MPI matches an RTS in place of the message; the fragments follow on tutti_p2p_comm. An RTS
 * is sent synchronously, so a send waits for its receive as a long send of an MPI does. All else that it waits for
 * ends without the receiver. */
#ifndef TUTTI_MPI_FAR_H
#define TUTTI_MPI_FAR_H

#include <stdatomic.h>

#include "mpi/message/endpoints.h"
#include "p2p/pipelined.h"
#include "p2p/protocols.h"

/* Not the length of RTSs of rendezvous. */
enum { TUTTI_FAR_RTS_BYTES = 7 * TUTTI_RTS_BYTES };

struct tutti_stage;
struct tutti_recv_request;
struct tutti_far_rts; /* what a request of a send stands for */

extern struct tutti_step tutti_far_step; /* messages with fragments under way */
extern atomic_int tutti_far_arrived;     /* 1: messages have arrived from other nodes */

/* Collective over MPI_COMM_WORLD, once tutti_p2p_comm exists: sets tutti_far_on, the same on all ranks. alive:
 * the device may be called. */
void tutti_far_open(struct tutti_transport *transport);
void tutti_far_close(int alive);

static inline int tutti_far_has_arrived(void)
{
    return unlikely(tutti_far_on) && atomic_load_explicit(&tutti_far_arrived, memory_order_relaxed);
}

/* ---- sender ---- */

/* 1 if the message goes in fragments; *code is the result of the call. 0: the MPI takes it. */
int tutti_far_send(const struct tutti_message *message, int *code);
int tutti_far_isend(const struct tutti_message *message, MPI_Request *request, int *code);
/* A persistent one; closes `stage`. */
int tutti_far_init(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request, int *code);
int tutti_far_start(struct tutti_far_rts *rts, MPI_Request *request);
/* The request is gone; takes NULL. */
void tutti_far_release(struct tutti_far_rts *rts);

/* ---- receiver ---- */

/* 1 if the received message is an RTS. */
int tutti_far_is_rts(const struct tutti_pipelined_rts *rts);

#endif
