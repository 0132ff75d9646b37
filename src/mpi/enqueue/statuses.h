/* Statuses of receives in stream order: written when the stream is past the call, by a function of the host that
 * the stream calls. Receives without a status call no function. */
#ifndef TUTTI_MPI_ENQUEUE_STATUSES_H
#define TUTTI_MPI_ENQUEUE_STATUSES_H

#include "mpi/comm/streams.h"

/* One status, and the message that it is about. */
struct tutti_enqueued_status {
    MPI_Status *to;
    int source, tag; /* as the receive names them */
    size_t most;     /* bytes of the buffer */
    int op;          /* of the communicator's lanes, see tutti_lanes_reports() */
};

/* 1 if the communicator, which has lanes, can write statuses. */
int tutti_enqueue_can_report(const struct tutti_comm *comm);
/* MPI_ERROR keeps its value. */
void tutti_enqueue_status_set(MPI_Status *status, int source, int tag, size_t bytes);
/* Of a send, or of a request that is null. */
void tutti_enqueue_status_empty(MPI_Status *status);

/* Local. Later work of the communicator's stream finds these statuses written. The list is copied; the statuses are the
 * program's, and of a capture are written at every launch of the graph. captured: of tutti_lanes_captured(). A status.
 */
int tutti_enqueue_statuses(struct tutti_comm *comm, int captured, int n, const struct tutti_enqueued_status statuses[]);

#endif
