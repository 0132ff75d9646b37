/* Messages in stream order between nodes that are started again and again: those of queues. Private to
 * stream_persistent*.c and stream_server.c. */
#ifndef TUTTI_MPI_STREAM_PERSISTENT_H
#define TUTTI_MPI_STREAM_PERSISTENT_H

#include <stdatomic.h>

#include "dtype/elements.h"
#include "mpi/comm/streams.h"
#include "ring/host_step.h"

struct persistent_batch;
struct tutti_persistent_message {
    const char *name;
    MPI_Comm comm;
    int send, peer, tag, gpu;
    struct tutti_node *node;
    struct tutti_host_steps *steps;
    char *run;                      /* the buffer, or NULL: */
    struct tutti_elements elements; /* its plan is held */
    int on_host;                    /* the MPI uses the run itself */
    struct tutti_bounce *memory;    /* otherwise: pinned memory of the whole message; NULL: no bytes */
    size_t bytes, each, pieces;     /* each: bytes of a piece */
    MPI_Request *request;           /* [pieces] */
    int captured;                   /* 1: a graph may start it; the gate knows */
    struct persistent_batch *kept;  /* batches of captures, this message their first one */
    atomic_int failed;              /* a status: a start has failed, and all further ones do */
    atomic_int waits;               /* streams that wait for it, or have just continued */
    /* On the server's thread. Pieces of the last start: the stream has reached them; the MPI has them; they have
     * ended. */
    size_t posted, started, ended;
    struct persistent_batch *waiter; /* its stream waits until so many have ended: */
    size_t until;
    uint64_t since; /* it waits, ns */
    int reported;
    int is_open; /* 1: in the list of those under way */
    struct tutti_persistent_message *next;
};

/* Pieces [from, to) of a message. */
struct persistent_part {
    struct tutti_persistent_message *message;
    size_t from, to;
};

/* One step of the host: the stream has reached the parts, or waits for their ends. */
struct persistent_batch {
    struct tutti_host_step step; /* the first field */
    struct persistent_batch *next;
    int is_kept; /* a graph may make it again; otherwise the server's thread frees it */
    int pending; /* messages that the stream waits for */
    size_t n;
    struct persistent_part part[];
};

/* stream_persistent_server.c: for `begin` of a batch's step, posted or waited for, and for `over`. */
void tutti_persistent_post(struct tutti_host_step *step);
void tutti_persistent_wait(struct tutti_host_step *step);
void tutti_persistent_over(struct tutti_host_step *step);
/* For tutti_proxy_poll(). */
void tutti_persistent_poll(void);

#endif
