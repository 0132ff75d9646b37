/* The kinds of requests that stand for messages, one file each, and what puts a request of each under watch. All local;
 * MPI codes unless said otherwise. `persistent`: the request is, and has not been started. */
#ifndef TUTTI_MPI_MESSAGE_REQUESTS_H
#define TUTTI_MPI_MESSAGE_REQUESTS_H

#include "mpi/request/request.h"

struct tutti_far_rts;
struct tutti_message;
struct tutti_send_request;
struct tutti_stage;
struct tutti_recv_request;

/* staged_request.c: a message by way of host memory, counted under the name `call` and, where it is sent, with this
 * reason. Takes over `stage`. */
int tutti_staged_put(MPI_Request request, MPI_Comm comm, const char *call, enum tutti_reason reason,
                     const struct tutti_stage *stage, int persistent);
/* What came with this status goes to the program's memory; and, of a persistent one, what is sent into the stage. */
int tutti_staged_out(struct tutti_stage *stage, MPI_Comm comm, const MPI_Status *status);
int tutti_staged_in(struct tutti_stage *stage, MPI_Comm comm);

/* recv_request.c: a receive that may get an RTS, staged or not, counted under the name `call`. Takes over `stage` and
 * `recv`. */
int tutti_receive_put(MPI_Request request, MPI_Comm comm, const char *call, const struct tutti_stage *stage,
                      struct tutti_recv_request *recv, int persistent);

/* send_request.c: a send by rendezvous, of which the request is Tutti's own. Takes over `sent`. */
int tutti_rndv_put(MPI_Request request, MPI_Comm comm, struct tutti_send_request *sent);

/* pipelined_request.c: the RTS of a send to another node. Takes over `rts`. */
int tutti_pipelined_put(MPI_Request request, MPI_Comm comm, struct tutti_far_rts *rts, int persistent);

/* persistent_send.c: a persistent send to a rank of the node. The request is Tutti's own, and every start sends by a
 * rendezvous where it can, otherwise as a staged message. 1 where the message is one for a rendezvous some day:
 * *request and *code; takes over `stage`, which is to be filled at each start. 0: the MPI makes the request. */
int tutti_persistent_send_new(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request,
                              int *code);

extern int tutti_lacks_sendrecv; /* 1: the MPI has no MPI_Isendrecv */

#endif
