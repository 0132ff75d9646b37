/* The short path of reductions of host memory, so that a program without device memory does not become slower: what a
 * call has to look at, and what it announces to its peers. */
#ifndef TUTTI_MPI_HOST_PATH_H
#define TUTTI_MPI_HOST_PATH_H

#include "mpi/comm/comms.h"
#include "mpi/real/handles.h"
#include "mpi/reduce/reduction.h"

/* The team that a call of host memory is announced to; NULL if the call must take the long path. */
static inline struct tutti_team *tutti_host_team(MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, int *type,
                                                 int *operation)
{
    if (!tutti_host_only())
        return NULL;
    const struct tutti_type_row *row = tutti_type_find(datatype);
    const struct tutti_comm *state = tutti_comm_find(comm);
    *operation = tutti_op_find(op);
    if (unlikely(!row || *operation == TUTTI_OP_NONE || !(row->legal >> *operation & 1) || !row->host_ok || !state ||
                 !state->team))
        return NULL;
    struct tutti_team *team = state->team;
    *type = row->type;
    return unlikely(team->size > 1 && (!team->whole || team->state == TUTTI_TEAM_BROKEN || tutti_team_has_report(team)))
               ? NULL
               : team;
}

/* The elements of a rank's contribution, and what else the ranks compare. */
struct tutti_announced {
    uint64_t count, detail;
};

/* 1 if the arguments show none of the errors that the MPI finds by itself; then *announced is filled in. */
static inline int tutti_host_elements_fine(enum tutti_collective collective, const struct tutti_team *team,
                                           const void *sendbuf, const void *recvbuf, MPI_Count count, int root,
                                           struct tutti_announced *announced)
{
    const int to_root = collective == TUTTI_COLLECTIVE_REDUCE;
    const int segments = collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK ? team->size : 1;
    if (unlikely(to_root && (unsigned)root >= (unsigned)team->size))
        return 0;
    announced->count = (uint64_t)count * (unsigned)segments;
    announced->detail = (uint64_t)root;
    const int gets = to_root ? root == team->rank : collective != TUTTI_COLLECTIVE_EXSCAN || team->rank > 0;
    return tutti_buffers_fine(collective, sendbuf, recvbuf, count, gets);
}

/* A single rank has no peers that read it. */
static inline void tutti_reduction_announce(struct tutti_team *team, enum tutti_collective collective, int type,
                                            int operation, const struct tutti_announced *announced)
{
    if (team->size > 1)
        tutti_team_announce(team, collective, type, operation, announced->count, announced->detail);
}

#endif
