/* What the files of queues share. */
#ifndef TUTTI_MPI_QUEUE_OWN_H
#define TUTTI_MPI_QUEUE_OWN_H

#include <pthread.h>

#include "mpi/comm/comms.h"
#include "mpi/queue/match.h"
#include "mpi/queue/queue.h"
#include "p2p/lanes.h"

struct tutti_mpix_queue {
    struct tutti_mpix_queue *next;
    struct tutti_stream *stream;
    int free_order; /* 1: the stream waits for no default stream; asked at once, as a captured stream cannot be asked */
    struct tutti_mpi_transport transport; /* of this rank alone */
    struct tutti_team *team;
    struct tutti_lanes *lanes;
    struct tutti_mpix_request *started, **end; /* that no wait has been made for yet */
};

extern pthread_mutex_t tutti_queue_lock; /* of lists of queues and requests, and of matches */
extern struct tutti_mpix_queue *tutti_queues;
extern struct tutti_mpix_request *tutti_queue_requests;

/* Reports why a call is not made, counts it, and raises `code` on the communicator, or on MPI_COMM_SELF where that is
 * no_comm. Returns the code. */
int tutti_queue_refuse(const char *name, MPI_Comm comm, int code, const char *why);
/* Waits for what is in the stream; polls meanwhile, as peers may need this rank. A status. */
int tutti_queue_drain(const struct tutti_mpix_queue *queue);
/* The request is in no list any more. */
void tutti_queue_request_free(struct tutti_mpix_request *request);

#endif
