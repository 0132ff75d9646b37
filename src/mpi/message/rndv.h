/* Sends by rendezvous: those under way, and their progress. A send is done when the data have left the program's
 * buffer, which does not depend on the receiver: if it does not fetch them soon, they are packed into scratch. */
#ifndef TUTTI_MPI_RNDV_H
#define TUTTI_MPI_RNDV_H

#include "mpi/bounce/early.h"
#include "mpi/message/endpoints.h"
#include "mpi/message/far.h"

struct tutti_send_request;

/* 1 if the message is sent by a rendezvous; *code is the result of a blocking call, after the whole send. 0: the MPI
 * takes it. memory: of the buffer's address, which the call has just asked the device for. */
int tutti_rndv_send(const struct tutti_message *message, const struct tutti_memory *memory, int *code);
/* The same for a nonblocking call: *request is the program's request, whose completion Tutti handles. */
int tutti_rndv_isend(const struct tutti_message *message, const struct tutti_memory *memory, MPI_Request *request,
                     int *code);

/* 1 if the RTS of a message of `bytes` bytes ends between two basic elements of the message. Not every MPI receives a
 * part of an element (quirks.h). */
int tutti_rts_fits(const struct tutti_message *message, const struct tutti_layout *layout, uint64_t bytes);

/* In MPI_Finalize: waits, bounded, for sends that are not done. */
void tutti_rndv_end(void);

/* deliver: the request has completed; returns an MPI code. release: the program does not use the request any more. */
int tutti_send_deliver(const struct tutti_send_request *sent);
void tutti_send_release(struct tutti_send_request *sent);

/* Most bytes that a nonblocking send from this memory copies early (bounce/early.h): none where short ones land. */
static inline size_t tutti_send_early(enum tutti_send_mode mode, const struct tutti_memory *memory)
{
    const int lands = tutti_endpoint && tutti_endpoint_lands(tutti_endpoint, memory->gpu);
    return mode == TUTTI_SEND_BUFFERED || lands ? 0 : TUTTI_EARLY_MOVED;
}

#endif
