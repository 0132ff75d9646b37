/* Reductions over a communicator of several nodes, in two levels: the ranks of a node reduce by kernels, some of them
 * exchange the node's results through host memory and the transport, and the node's ranks get the result by kernels.
 * Elements are combined in rank order inside a node and then in the order of the nodes (struct tutti_hierarchy), so the
 * bits depend on the placement of the ranks alone. Used by src/mpi/nodes/.
 *
 * All ranks of the communicator make the same calls in the same order: a blocking call between two others, nonblocking
 * ones one after the other. What one rank's memory is only matters inside its node. */
#ifndef TUTTI_COLL_NODES_H
#define TUTTI_COLL_NODES_H

#include "coll/coll.h"
#include "coll/hierarchy.h"
#include "p2p/p2p.h"
#include "sched/worker.h"

struct tutti_nodes;      /* what a communicator keeps for such calls */
struct tutti_nodes_call; /* one call */

/* What the door has for moves in the node; the door keeps it. A worker's endpoint NULL: there are no moves. */
struct tutti_nodes_moves {
    struct tutti_p2p_worker blocking, nonblocking; /* copied for each call */
    const char *name;                              /* of the program's call, for reports */
};

/* Local. For a communicator of so many ranks; NULL without memory. over: before its first call; the hierarchy is the
 * caller's and stays; rules: where the rules in force begin, the same on all ranks. free: no call is under way; takes
 * NULL. alive: the device may be called. */
struct tutti_nodes *tutti_nodes_new(int ranks);
void tutti_nodes_over(struct tutti_nodes *nodes, struct tutti_hierarchy *hierarchy, int rules);
void tutti_nodes_free(struct tutti_nodes *nodes, int alive);

/* 1 if calls of this collective may go in two levels. */
int tutti_nodes_knows(enum tutti_collective collective);
/* 1 if a call of this collective goes in two levels by the rules; 0: the rules leave it to the MPI. Depends on facts
 * that are the same on all ranks. */
int tutti_nodes_takes(const struct tutti_nodes *nodes, const struct tutti_call *call);

/* Collective over the communicator; blocking. A status; *why: the name of the row. */
int tutti_nodes_run(struct tutti_nodes *nodes, const struct tutti_call *call, const struct tutti_nodes_moves *moves,
                    const char **why);
/* The same without waiting. begin: local; `call` and `moves` stay until the end. poll: 0: under way; 1: it has ended,
 * *status and *why are set, and it is freed. By threads that may call the transport. */
struct tutti_nodes_call *tutti_nodes_begin(struct tutti_nodes *nodes, const struct tutti_call *call,
                                           const struct tutti_nodes_moves *moves, struct tutti_worker *worker);
int tutti_nodes_poll(struct tutti_nodes_call *call, int *status, const char **why);

/* ---- which calls: an agreement of all ranks, kept for calls of the same kind ----
 *
 * Whether all ranks bring device memory is known after an agreement alone. Calls of the same collective, form, count,
 * type and operator are one kind (of a move, coll/carry.h: `count` is a number of bytes that all ranks know without the
 * others, or 0); the first, second, fourth ... call of a kind agrees, and the calls between do as the
 * last one did. So a program on host memory pays for a few agreements in millions of calls. */
enum { TUTTI_NODES_KINDS = 64 };
struct tutti_nodes_kinds {
    int nonblocking; /* the form of the calls that are asked about */
    struct tutti_nodes_kind {
        uint64_t key;
        uint32_t calls;
        int taken;      /* what the last agreement has said */
        uint64_t bytes; /* of a move: of the largest block of any rank, then */
    } kind[TUTTI_NODES_KINDS];
};
enum tutti_nodes_turn { TUTTI_NODES_TO_MPI, TUTTI_NODES_AGREE, TUTTI_NODES_TAKEN };
/* Local, once for each call, in the order in which all ranks make them. */
enum tutti_nodes_turn tutti_nodes_turn(struct tutti_nodes_kinds *kinds, const struct tutti_call *call);
/* After an agreement, before the next turn. */
void tutti_nodes_agreed(struct tutti_nodes_kinds *kinds, const struct tutti_call *call, int taken, uint64_t bytes);
/* Of the last agreement. */
uint64_t tutti_nodes_agreed_bytes(struct tutti_nodes_kinds *kinds, const struct tutti_call *call);
/* Words to be combined by their minimum, and what they say then: 1: the call is taken, with rules from *rules on.
 * bytes: of this rank's largest block, if the call is a move; then those of any rank. */
enum { TUTTI_NODES_WORDS = 5 };
void tutti_nodes_words(const struct tutti_call *call, uint64_t bytes, int64_t words[TUTTI_NODES_WORDS]);
int tutti_nodes_said(const struct tutti_call *call, const int64_t words[TUTTI_NODES_WORDS], int *rules,
                     uint64_t *bytes);

#endif
