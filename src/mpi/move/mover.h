/* Blocking collectives that move data among the ranks of one node without the MPI: the algorithms of src/coll/move/.
 * Every rank announces every such call to its team, so all ranks know whether all have device memory. If one has
 * not, or cannot take part, the MPI makes the call on all ranks. */
#ifndef TUTTI_MPI_MOVER_H
#define TUTTI_MPI_MOVER_H

#include "mpi/comm/comms.h"
#include "mpi/message/endpoints.h"
#include "mpi/move/mover_blocks.h"

/* TUTTI_ON() of each collective that a rule may send over nodes; 0 if the job has one node. Set when the library is
 * opened; the same on all ranks. */
extern uint32_t tutti_mover_nodes;

/* nodes.c. Local; for a job of several nodes. */
void tutti_mover_nodes_open(void);
/* A call on a communicator over several nodes, also of host memory. 1: the call is done, and *code is its
 * result; 0: the MPI must make it. Collective over the communicator in some calls (mpi/nodes/over_nodes.h). */
int tutti_mover_nodes_run(const struct tutti_collective_args *args, int *code);
/* Local. 1 if the ranks of the communicator count calls of this collective: a rule may send them over nodes. */
int tutti_mover_nodes_new(MPI_Comm comm);
static inline int tutti_mover_counts(enum tutti_collective collective, MPI_Comm comm)
{
    if (likely(!(tutti_mover_nodes >> collective & 1)) || tutti_inside)
        return 0;
    const struct tutti_comm *state = tutti_comm_find(comm);
    return state ? state->over_nodes != NULL : tutti_mover_nodes_new(comm);
}

/* 1 while this process cannot have memory of the device, and in calls that Tutti itself makes. */
static inline int tutti_nothing_on_device(void)
{
    return likely(!tutti_device_active(tutti_door.device)) || tutti_inside;
}

/* Local. 1 if the call's buffers are seen to lie in no device's memory: they have one block, or blocks of one length,
 * of a predefined type. The device is asked once for each buffer. */
int tutti_mover_on_host(const struct tutti_collective_args *call);
/* 1: the call is done, and *code is its result. 0: the MPI must make it; if it succeeds, the call raises and returns
 * *code (tutti_coll_owed()). Collective over the communicator at its first call. on_host: the answer of
 * tutti_mover_on_host(). */
int tutti_mover_run(const struct tutti_collective_args *call, int on_host, int *code);
/* Local. The same for a nonblocking call on a communicator of one rank, which is done before it returns. The caller
 * raises the error in *code. 0, with the reason: also if the communicator has more ranks. ready: called with `with`
 * before data are moved, if the call can be made; takes what the caller needs afterwards. It returns 0 without memory,
 * and the MPI must make the call. */
int tutti_mover_run_alone(const struct tutti_collective_args *call, const struct tutti_comm *state,
                          int (*ready)(void *with), void *with, int *code);
/* Agrees with all ranks whether Tutti or the MPI makes a persistent call, which is collective too: *able is not 0 if
 * all ranks of the communicator can take part in its moves, with these buffers; otherwise the reason is set. A status.
 */
int tutti_mover_agree(const struct tutti_collective_args *args, uint32_t *able);
/* Announces a call of a rank that cannot have device memory; not inline for a new communicator. */
void tutti_mover_pass_new(enum tutti_collective collective, int root, MPI_Comm comm);
static inline void tutti_mover_pass(enum tutti_collective collective, int root, MPI_Comm comm)
{
    if (likely(!tutti_endpoint_everywhere) || unlikely(tutti_inside))
        return;
    const struct tutti_comm *state = tutti_comm_find(comm);
    if (unlikely(!state || state->opening)) {
        tutti_mover_pass_new(collective, root, comm);
        return;
    }
    struct tutti_team *team = state->team;
    if (!team || team->size == 1 || !team->whole)
        return;
    if (likely(team->state != TUTTI_TEAM_BROKEN))
        tutti_team_announce(team, collective, 0, 0, 0, (uint64_t)(unsigned)root);
    else
        tutti_team_leave(team);
}

#endif
