/* Reductions and moves of data on a communicator over several nodes: which calls go in two levels (coll/nodes.h,
 * coll/carry.h). Whether all ranks bring device memory is agreed now and then by a small reduction of the MPI; the
 * calls between do the same as the last one. So all ranks decide alike, in the order of the calls on the communicator.
 */
#ifndef TUTTI_MPI_OVER_NODES_H
#define TUTTI_MPI_OVER_NODES_H

#include "coll/carry.h"
#include "coll/nodes.h"
#include "mpi/comm/comms.h"

/* The state of a nonblocking call. */
enum tutti_over_nodes_at {
    TUTTI_OVER_NODES_NEW, /* its turn comes later */
    TUTTI_OVER_NODES_TURN,
    TUTTI_OVER_NODES_AGREES,
    TUTTI_OVER_NODES_OPENS, /* the hierarchy is being made */
    TUTTI_OVER_NODES_RUNS
};
struct tutti_over_nodes_call {
    enum tutti_over_nodes_at at;
    enum tutti_nodes_turn turn;
    uint64_t since;                /* the agreement has begun, ns */
    uint64_t bytes;                /* of a move: of this rank's largest block */
    struct tutti_nodes_call *call; /* of a reduction */
    struct tutti_carry_open *move; /* of a move */
};

/* For tutti_comms_open(). */
struct tutti_over_nodes *tutti_over_nodes_new(int ranks);
void tutti_over_nodes_free(struct tutti_over_nodes *over);

/* 1 if the call may go in two levels; the same on all ranks. */
int tutti_over_nodes_concerns(const struct tutti_comm *comm, const struct tutti_call *call, int nonblocking);

/* Collective; blocking: in two levels on a communicator over several nodes, otherwise tutti_reduce_run() on the team. A
 * status, and its outputs. */
int tutti_over_nodes_or_team(MPI_Comm handle, struct tutti_team *team, const struct tutti_call *call, const char *name,
                             enum tutti_reduce_outcome *taken, const char **why);

/* Local, of a nonblocking call before which no other is open on the communicator: takes its turn. 1: the MPI makes it.
 */
int tutti_over_nodes_turn(struct tutti_comm *comm, const struct tutti_call *call, struct tutti_over_nodes_call *over);
/* Local; of the first open call of the communicator. 0: under way; 1: it has ended, *status and *why are set; -1: the
 * MPI makes the call, for the reason *why. */
int tutti_over_nodes_poll(struct tutti_comm *comm, const struct tutti_call *call, struct tutti_over_nodes_call *over,
                          const char *name, int *status, const char **why);

/* ---- moves ----
 *
 * A nonblocking one takes its turn and is polled as a reduction. Its call: `kind`, `root` and `move` too, `count` as
 * for the turn. It stays until the end, and over->bytes is set before the first poll. */

/* Local. 1 if the communicator is over several nodes; the same on all ranks. */
int tutti_over_nodes_moves(const struct tutti_comm *comm);
/* Once for each call, in the order of the calls on all ranks. call: `collective`, and `count`: bytes that all ranks
 * know. A status. */
int tutti_over_nodes_move_turn(struct tutti_comm *comm, const struct tutti_call *call, enum tutti_nodes_turn *turn);
/* Collective, for TUTTI_NODES_AGREE. `kind` too; bytes: of this rank's largest block. 1: the call is taken; 0; a
 * status. */
int tutti_over_nodes_move_agree(struct tutti_comm *comm, const struct tutti_call *call, uint64_t bytes,
                                const char *name);
/* Collective, for a call that is taken. `root` and `move` too. A status, as tutti_carry_run(). */
int tutti_over_nodes_move(struct tutti_comm *comm, const struct tutti_call *call, const char **how);
/* Local, for a call that is taken and that this rank cannot make: the ranks of its node notice it through their team.
 * Returns the status. */
int tutti_over_nodes_move_break(struct tutti_comm *comm, int status);

#endif
