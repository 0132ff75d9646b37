/* Private to the endpoints: what one holds. */
#ifndef TUTTI_TEAM_ENDPOINT_OWN_H
#define TUTTI_TEAM_ENDPOINT_OWN_H

#include <pthread.h>

#include "team/endpoint.h"
#include "team/node.h"

/* What this rank holds of a peer's. */
struct tutti_endpoint_from {
    _Atomic uint64_t seen;                              /* when its process was looked at */
    _Atomic int dead;                                   /* it was not there any more */
    int tried;                                          /* its scratch cannot be mapped */
    struct tutti_mapping *scratch;                      /* open */
    uint64_t at, bytes;                                 /* of the scratch: place and length in the mapping */
    unsigned met;                                       /* allocations that were made known so far */
    struct tutti_mapping *pinned[TUTTI_ENDPOINT_KNOWN]; /* of those that are known */
    struct tutti_export asked;                          /* id not 0: its descriptor is on its way; one at a time */
    uint64_t hopeless;                                  /* id of an allocation that could not be mapped */
};

struct tutti_endpoint {
    struct tutti_node *node;
    const struct tutti_device *device;
    size_t bytes; /* of the scratch */
    pthread_mutex_t lock;
    _Atomic int gpu;
    _Atomic int offering;  /* 0: not yet, 1: done, -1: cannot be offered to others */
    _Atomic int listening; /* ranks whose endpoints to this one are open */
    _Atomic int waiting;   /* peers that have offered nothing yet */
    char *scratch;
    uint64_t sequence;
    uint64_t used[TUTTI_RNDVS / 64], held[TUTTI_RNDVS / 64]; /* held: by who sends */
    _Atomic int rndvs;                                       /* in use */
    unsigned char lease[TUTTI_RNDVS]; /* of each rendezvous: its entry among known + 1; 0: none */
    _Atomic int asking;               /* peers that were asked for a descriptor */
    _Atomic uint32_t heard;           /* of the node's, as far as it has been followed */
    int most;                         /* known of one peer */
    struct tutti_endpoint_piece {
        uint64_t at, bytes; /* of scratch; bytes 0: none */
        int to;             /* as the rendezvous says, which others can write */
        const void *own;    /* to this rank itself: what is offered */
    } piece[TUTTI_RNDVS];   /* of each rendezvous */
    struct tutti_endpoint_from *from;
};

static inline struct tutti_endpoints *tutti_endpoint_mine(const struct tutti_endpoint *endpoint)
{
    return &tutti_node_control(endpoint->node)->endpoints;
}

/* A rank takes from its own memory as it is: there is nothing to be mapped. */
static inline int tutti_endpoint_is_own(const struct tutti_endpoint *endpoint, int peer)
{
    return peer == endpoint->node->rank;
}

static inline struct tutti_endpoints *tutti_endpoint_theirs(const struct tutti_endpoint *endpoint, int peer)
{
    return &endpoint->node->peer[peer].page->control->endpoints;
}

/* The lock is held. The rendezvous is free again. */
void tutti_endpoint_put_back(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv);
/* Hands a fresh descriptor of the allocation to the peer. 0: try again later. */
int tutti_endpoint_send_descriptor(struct tutti_endpoint *endpoint, int peer, const struct tutti_export *what);
/* The lock is held, here and below. Nobody will take a rendezvous of this rank from its buffer any more. */
void tutti_endpoint_end_lease(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
/* Sends what peers have asked for. */
void tutti_endpoint_serve(struct tutti_endpoint *endpoint);
/* A peer's scratch for the endpoints' GPU, not to be evicted, *out NULL where it cannot be mapped. 0: its descriptor
 * has not come yet. */
int tutti_endpoint_map_scratch(struct tutti_endpoint *endpoint, int peer, const struct tutti_share *share,
                               struct tutti_mapping **out);
/* Lets go of what is known and gone, see gone.h. */
void tutti_endpoint_forget(struct tutti_endpoint *endpoint);
/* Maps what this rank has asked for and has come. */
void tutti_endpoint_settle(struct tutti_endpoint *endpoint);

#endif
