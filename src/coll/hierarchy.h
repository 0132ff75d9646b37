/* Hierarchy: the nodes of a communicator over several nodes. All ranks know without communication which node each
 * rank is on. The team of the node and the transports need one exchange, which never waits. Used by collectives over
 * nodes. */
#ifndef TUTTI_COLL_HIERARCHY_H
#define TUTTI_COLL_HIERARCHY_H

#include "sched/subset.h"
#include "team/team.h"

/* Tags of the transports `here` and `ranks`: of reductions, and of moves, which may be under way beside them. */
enum { TUTTI_HIERARCHY_REDUCTIONS = 0, TUTTI_HIERARCHY_MOVES = 8 };

struct tutti_hierarchy {
    int nodes;                       /* of the communicator's ranks, numbered in the order of their lowest ranks */
    int node;                        /* this rank's */
    int size, rank;                  /* ranks of the communicator on this node; this one's number among them */
    int least, most;                 /* ranks of the communicator on the node with fewest; with most */
    int *node_of;                    /* [ranks of the communicator] */
    int *member;                     /* [size]: rank in the communicator of each rank of this node, ascending */
    int *leader;                     /* [nodes]: rank in the communicator of each node's lowest rank */
    int *peer;                       /* [nodes]: of the rank with number `rank` on each node; -1: it has fewer ranks */
    struct tutti_team *team;         /* of this node's ranks, whole; its transport is `here` */
    struct tutti_transport *here;    /* of this node's ranks; rank r is member[r] */
    struct tutti_transport *ranks;   /* of all ranks of the communicator, as they are numbered there */
    struct tutti_contexts *contexts; /* and its own ones, -1: none */
    int context[2];
};

struct tutti_hierarchy_opening;

/* Collective over `transport`, the communicator's, at a point that all its ranks agree on and at which its
 * collectives are in order: inside a collective call of the program. Never waits. world_ranks: rank of each rank of
 * the communicator in the world of the node, which is also the transport of the contexts. transport, node and
 * contexts must outlive the hierarchy. In two phases: each rank tries, then all agree; if one could not, no rank has
 * a hierarchy. A status; after a failure this rank takes no part, and the others never finish. */
int tutti_hierarchy_begin(struct tutti_node *node, struct tutti_contexts *contexts, struct tutti_transport *transport,
                          const int world_ranks[], struct tutti_hierarchy_opening **out);
/* Local, for threads that may call the transport; never waits. 0: not yet. 1: it has ended, the opening is freed,
 * and *out is the hierarchy, or NULL on all ranks. A status: the transport failed, the opening is freed. */
int tutti_hierarchy_poll(struct tutti_hierarchy_opening *opening, struct tutti_hierarchy **out);
/* Local. For a communicator that ends before. Memory that the transport may still write into is lost. Takes NULL. */
void tutti_hierarchy_abandon(struct tutti_hierarchy_opening *opening);
/* Local. No call of it is under way. Takes NULL. */
void tutti_hierarchy_free(struct tutti_hierarchy *hierarchy);

#endif
