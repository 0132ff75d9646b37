/* Persistent requests that are matched before they are started, for queues (queue.c): after the match each side
 * knows where the other's port and memory are, and starts need nothing of the host. */
#ifndef TUTTI_MPI_MATCH_H
#define TUTTI_MPI_MATCH_H

#include "dtype/elements.h"
#include "mpi/real/door.h"
#include "p2p/ports.h"

enum tutti_match_stage {
    TUTTI_MATCH_NOT,  /* not begun */
    TUTTI_MATCH_SHOW, /* this side's memory is being named to the peer */
    TUTTI_MATCH_INFO, /* waits for what the peer says */
    TUTTI_MATCH_MAP,  /* the peer's memory is being mapped */
    TUTTI_MATCH_ACK,  /* waits for whether the peer could */
    TUTTI_MATCHED,
    TUTTI_MATCH_FAILED
};

struct tutti_mpix_queue;
struct tutti_matching; /* of match.c, between NOT and MATCHED */
struct tutti_queue_nodes;
struct tutti_queue_host_run;
/* What an MPIX_Request points to. */
struct tutti_mpix_request {
    struct tutti_mpix_request *next; /* of all */
    struct tutti_mpix_request *of;   /* not NULL: this is a request of MPIX_Imatch for `of` */
    int send, peer, tag;
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Comm comm;
    /* Set by the match. */
    enum tutti_match_stage stage;
    struct tutti_matching *matching;
    int code; /* FAILED */
    const char *why;
    MPI_Count came;                 /* bytes that the sender sends */
    int gpu, node_peer;             /* node_peer -1: on another node */
    struct tutti_elements elements; /* this holds a reference to the plan */
    void *bounce;                   /* device memory of the whole message: elements with gaps, or that no other process
                                       can map; NULL: none */
    struct tutti_lane_port *port;
    struct tutti_mapping *mapped[2];
    struct tutti_lane_match start;         /* but `op` */
    int on_host, beyond_kernels;           /* the elements are a run in memory of the host, which no kernel reaches */
    struct tutti_queue_host_run *host_run; /* of such a run; NULL: none, or between nodes */
    struct tutti_queue_nodes *nodes;       /* between nodes; NULL: the peer is on this one */
    /* Of the queues. */
    struct tutti_mpix_queue *queue;     /* that started it last; NULL: none, or it is freed */
    int active, op;                     /* active: started, and no wait is in the stream */
    int watched;                        /* 1: that queue gives up when the peer dies */
    struct tutti_mpix_request *started; /* the next one that the queue has to wait for */
};

/* Local, by threads one at a time. Begins the match; MPI_SUCCESS or what is wrong with the request, not raised. gpu: of
 * requests whose buffers do not say. */
int tutti_match_begin(struct tutti_mpix_request *request, int gpu);
/* Advances all matches; 1 if that of the request has ended, well or not. */
int tutti_match_test(struct tutti_mpix_request *request);
/* Frees what the match has taken. */
void tutti_match_end(struct tutti_mpix_request *request);

#endif
