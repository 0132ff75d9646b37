/* Requests of messages in stream order, until their wait. Each is a generalized request of the MPI, so no other call
 * returns its handle. */
#ifndef TUTTI_MPI_ENQUEUE_REQUESTS_H
#define TUTTI_MPI_ENQUEUE_REQUESTS_H

#include "dtype/elements.h"
#include "mpi/comm/streams.h"
#include "p2p/lanes.h"

#include <uthash.h>

/* Elements with gaps, or a run in memory of the host, and memory for the packed message; scratch NULL: the message is
 * one run of bytes that kernels reach. */
struct tutti_enqueued_packed {
    struct tutti_elements elements;
    int host;                              /* 1: a run in memory that only the host reaches */
    struct tutti_bounced_receive *bounced; /* of a receive into such memory */
    struct tutti_lanes_scratch *scratch;
    void *memory;
    size_t bytes;
};

struct tutti_enqueued {
    MPI_Request handle;
    struct tutti_comm *comm; /* NULL: it has been freed; lost: before the elements were unpacked */
    int lost;
    int op;    /* 0: a message of MPI_PROC_NULL, or between nodes */
    void *far; /* of a message between nodes, for the proxy's wait() */
    int send, peer, tag;
    struct tutti_enqueued_packed packed;
    UT_hash_handle hh;
};

/* Local. NULL if the MPI makes no request, or there is no memory. */
struct tutti_enqueued *tutti_enqueued_new(struct tutti_comm *comm, int send, int peer, int tag);
/* NULL: the request is of another call. */
struct tutti_enqueued *tutti_enqueued_find(MPI_Request handle);
/* The communicator is about to be freed, and its messages are complete: a wait has nothing to wait for. */
void tutti_enqueued_leave(MPI_Comm comm);
/* Frees the request and what its message has taken. */
void tutti_enqueued_end(struct tutti_enqueued *entry);

#endif
