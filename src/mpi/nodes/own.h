/* What a communicator over several nodes keeps for reductions and moves. Private to src/mpi/nodes/. */
#ifndef TUTTI_MPI_NODES_OWN_H
#define TUTTI_MPI_NODES_OWN_H

#include "mpi/nodes/over_nodes.h"
#include "p2p/deferred.h"

struct tutti_over_nodes {
    struct tutti_nodes *nodes;
    struct tutti_carry *carry; /* NULL: no move has gone in two levels yet */
    struct tutti_nodes_kinds kinds;
    struct tutti_nodes_moves moves;
    struct tutti_deferred transport; /* a fiber does not call the MPI */
    int64_t words[TUTTI_NODES_WORDS];
    struct tutti_pending pending;
    int over;   /* 1: `nodes` has its hierarchy */
    int rules;  /* where those in force begin, then */
    int failed; /* a status: a call has failed, and all further ones do. The MPI may still write into `words` */
};

/* Of this communicator, for a call of the program's with this name. */
const struct tutti_nodes_moves *tutti_over_nodes_moves_of(struct tutti_comm *comm, const char *name);
/* Collective calls of the program on the communicator that have not started yet are before this one. Waits for them; a
 * status: that of an earlier failure too. */
int tutti_over_nodes_await(struct tutti_comm *comm);
/* Collective; blocking. The agreement, and the hierarchy that the first call needs which is taken. bytes: of this
 * rank's largest block, if the call is a move. 1: the call is taken; 0; a status. */
int tutti_over_nodes_agree(struct tutti_comm *comm, const struct tutti_call *call, uint64_t bytes, const char *name);

/* A nonblocking move that is taken, to be polled then. A status. */
int tutti_over_nodes_move_begin(struct tutti_comm *comm, const struct tutti_call *call,
                                struct tutti_over_nodes_call *over);
/* Local. 1: all ranks have other rules now, which leave the move to the MPI; it is not counted. */
int tutti_over_nodes_move_left(const struct tutti_over_nodes *over, const struct tutti_call *call);

#endif
