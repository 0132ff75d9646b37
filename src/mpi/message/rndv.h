/* Sending by rendezvous: what is on its way, and bringing it on. A send is done when the data have left the program's
 * buffer, which never takes the receiver: where it does not fetch them soon, they are packed into scratch. */
#ifndef TUTTI_MPI_RNDV_H
#define TUTTI_MPI_RNDV_H

#include "mpi/message/endpoints.h"
#include "mpi/message/far.h"

struct tutti_send_request;

/* 1 where the message is sent by a rendezvous; *code is what a blocking call returns, after all of it. 0: the MPI takes
 * it.
 */
int tutti_rndv_send(const struct tutti_message *message, int *code);
/* The same of a nonblocking call: *request is the program's, under watch. */
int tutti_rndv_isend(const struct tutti_message *message, MPI_Request *request, int *code);

/* 1 where the RTS of a message of `bytes` bytes ends between two basic elements of it: not every MPI takes a part of
 * one (quirks.h). */
int tutti_rts_fits(const struct tutti_message *message, const struct tutti_layout *layout, uint64_t bytes);

/* In MPI_Finalize: waits, bounded, for what is not done. */
void tutti_rndv_end(void);

/* The request has completed: an MPI code. let_go: the program is through with it; free: MPI_Request_free. */
int tutti_send_deliver(const struct tutti_send_request *sent);
void tutti_send_let_go(struct tutti_send_request *sent);
int tutti_send_free(struct tutti_send_request *sent, MPI_Request *request);

#endif
