/* The kinds of requests that stand for messages, one file each, and the functions that put a request of each under
 * watch. All local; MPI codes unless said otherwise. `persistent`: the request is, and has not been started. An
 * entry is made before the MPI's call (NULL: no memory), and takes over its arguments with tutti_request_begun(). */
#ifndef TUTTI_MPI_MESSAGE_REQUESTS_H
#define TUTTI_MPI_MESSAGE_REQUESTS_H

#include "mpi/request/request.h"

struct tutti_far_rts;
struct tutti_message;
struct tutti_send_request;
struct tutti_stage;
struct tutti_there;
struct tutti_recv_request;

/* staged_request.c: a staged message, counted under the name `call`. Takes over `stage`. because: the reason, if it
 * is sent. */
struct tutti_request *tutti_staged_entry(MPI_Comm comm, const char *call, const struct tutti_stage *stage,
                                         int persistent);
void tutti_staged_because(struct tutti_request *entry, enum tutti_reason reason);
/* Copies the message received with this status to the program's memory; for a persistent send, fills the stage. */
int tutti_staged_out(struct tutti_stage *stage, MPI_Comm comm, const MPI_Status *status);
int tutti_staged_in(struct tutti_stage *stage, MPI_Comm comm);

/* recv_request.c: a receive that may get an RTS, staged or not, counted under the name `call`. Takes over `stage` and
 * `recv`. begun: the MPI has begun it. */
struct tutti_request *tutti_receive_entry(MPI_Comm comm, const char *call, const struct tutti_stage *stage,
                                          struct tutti_recv_request *recv, int persistent);
void tutti_receive_begun(struct tutti_request *entry);
/* This rank takes rendezvous from now on: receives that are open already may get RTSs in any wait of this rank. */
void tutti_receives_listen(void);
/* One more receive may get an RTS, so that every wait looks at the receives when a peer asks for that; one
 * less. */
void tutti_receives_open(void);
void tutti_receives_close(void);

/* recv_again.c: the entry of a receive like one that has ended, into device memory, and what the MPI receives into.
 * NULL: no kept receive is like it, and tutti_receive_entry() makes an entry. end: the MPI's call has returned this
 * code. close: frees what is kept. */
struct tutti_request *tutti_receive_again(const struct tutti_message *like, const struct tutti_there *there);
struct tutti_recv_target tutti_receive_target(const struct tutti_request *entry);
int tutti_receive_again_end(struct tutti_request *entry, int code, MPI_Request request);
void tutti_receive_again_close(void);

/* send_request.c: a send by rendezvous, whose request is Tutti's own. Takes over `sent`. memory: of its buffer; NULL:
 * not known. */
int tutti_rndv_put(MPI_Request request, MPI_Comm comm, struct tutti_send_request *sent,
                   const struct tutti_memory *memory);

/* MPI_Cancel of a send that this library makes: it cannot be cancelled any more, and completes as sent. */
int tutti_send_cancel(struct tutti_request *entry, MPI_Request *request);

/* pipelined_request.c: the RTS of a send to another node. Takes over `rts`. */
int tutti_pipelined_put(MPI_Request request, MPI_Comm comm, struct tutti_far_rts *rts, int persistent);
/* The program has no request for this RTS, which the MPI is still sending: `rts` is freed when it has been sent. */
void tutti_pipelined_abandon(MPI_Request request, MPI_Comm comm, struct tutti_far_rts *rts);

/* persistent_send.c: a persistent send to a rank of the node. The request is Tutti's own, and every start sends by a
 * rendezvous if possible, otherwise as a staged message. 1 if the message may go by a rendezvous at some start:
 * *request and *code; takes over `stage`, which each start must fill. 0: the MPI makes the request. */
int tutti_persistent_send_new(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request,
                              int *code);
/* 1 if its arguments are known to be right, so that the MPI need not be asked before that. */
int tutti_persistent_send_is_fine(const struct tutti_message *message, const MPI_Request *request);

extern int tutti_lacks_sendrecv; /* 1: the MPI lacks MPI_Isendrecv */

#endif
