/* Private to the lanes: what one holds. */
#ifndef TUTTI_TEAM_LANE_OWN_H
#define TUTTI_TEAM_LANE_OWN_H

#include <pthread.h>

#include "team/lane.h"
#include "team/node.h"

/* What this rank holds of a peer's. */
struct tutti_lane_from {
    _Atomic uint64_t seen;                          /* when its process was looked at */
    _Atomic int dead;                               /* it was not there any more */
    int tried;                                      /* its scratch cannot be mapped */
    struct tutti_mapping *scratch;                  /* open */
    uint64_t at, bytes;                             /* of the scratch: place and length in the mapping */
    unsigned met;                                   /* allocations that were made known so far */
    struct tutti_mapping *pinned[TUTTI_LANE_KNOWN]; /* of those that are known */
    struct tutti_export asked;                      /* id not 0: its descriptor is on its way; one at a time */
    uint64_t hopeless;                              /* id of an allocation that could not be mapped */
};

struct tutti_lane {
    struct tutti_node *node;
    const struct tutti_device *device;
    size_t bytes; /* of the scratch */
    pthread_mutex_t lock;
    _Atomic int gpu;
    _Atomic int offering;  /* 0: not yet, 1: done, -1: cannot be offered to others */
    _Atomic int listening; /* ranks whose lanes to this one are open */
    _Atomic int waiting;   /* peers that have offered nothing yet */
    char *scratch;
    uint64_t sequence;
    uint64_t used[TUTTI_RNDVS / 64], held[TUTTI_RNDVS / 64]; /* held: by who sends */
    _Atomic int rndvs;                                       /* in use */
    unsigned char lease[TUTTI_RNDVS]; /* of each rendezvous: its entry among known + 1; 0: none */
    _Atomic int asking;               /* peers that were asked for a descriptor */
    _Atomic uint32_t heard;           /* of the node's, as far as it has been followed */
    int most;                         /* known of one peer */
    struct tutti_lane_piece {
        uint64_t at, bytes; /* of scratch; bytes 0: none */
        int to;             /* as the rendezvous says, which others can write */
        const void *own;    /* to this rank itself: what is offered */
    } piece[TUTTI_RNDVS];   /* of each rendezvous */
    struct tutti_lane_from *from;
};

static inline struct tutti_lanes *tutti_lane_mine(const struct tutti_lane *lane)
{
    return &tutti_node_control(lane->node)->lanes;
}

/* A rank takes from its own memory as it is: there is nothing to be mapped. */
static inline int tutti_lane_is_own(const struct tutti_lane *lane, int peer)
{
    return peer == lane->node->rank;
}

static inline struct tutti_lanes *tutti_lane_theirs(const struct tutti_lane *lane, int peer)
{
    return &lane->node->peer[peer].page->control->lanes;
}

/* The lock is held. The rendezvous is free again. */
void tutti_lane_put_back(struct tutti_lane *lane, struct tutti_rndv *rndv);
/* Hands a fresh descriptor of the allocation to the peer. 0: try again later. */
int tutti_lane_send_descriptor(struct tutti_lane *lane, int peer, const struct tutti_export *what);
/* The lock is held, here and below. Nobody will take a rendezvous of this rank from its buffer any more. */
void tutti_lane_end_lease(struct tutti_lane *lane, const struct tutti_rndv *rndv);
/* Sends what peers have asked for. */
void tutti_lane_serve(struct tutti_lane *lane);
/* A peer's scratch for the lanes' GPU, not to be evicted, *out NULL where it cannot be mapped. 0: its descriptor has
 * not come yet. */
int tutti_lane_map_scratch(struct tutti_lane *lane, int peer, const struct tutti_share *share,
                           struct tutti_mapping **out);
/* Lets go of what is known and gone, see gone.h. */
void tutti_lane_forget(struct tutti_lane *lane);
/* Maps what this rank has asked for and has come. */
void tutti_lane_settle(struct tutti_lane *lane);

#endif
