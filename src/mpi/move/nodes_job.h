/* A nonblocking or persistent collective that moves data over several nodes. Local functions, on threads of the
 * program.
 */
#ifndef TUTTI_MPI_NODES_JOB_H
#define TUTTI_MPI_NODES_JOB_H

#include "mpi/move/collective.h"
#include "mpi/nodes/over_nodes.h"

struct tutti_nodes_job;

/* 1 if all ranks of the communicator count the call: a rule may send it over nodes. Then `collective` and `count` of
 * *call are set, for its turn. The same on all ranks. */
int tutti_nodes_job_counts(const struct tutti_collective_args *args, const struct tutti_comm *state,
                           struct tutti_call *call);
/* NULL without memory. `args` stays until close(), also its types and buffers. */
struct tutti_nodes_job *tutti_nodes_job_open(const struct tutti_collective_args *args, const struct tutti_comm *state);
/* The first open call of its communicator: as far as it goes now. 0: under way; 1: it has ended with *code; -1: the MPI
 * makes it. Counts the call if it has ended. */
int tutti_nodes_job_poll(struct tutti_nodes_job *job, struct tutti_comm *state, struct tutti_over_nodes_call *over,
                         int *code);
/* Of one that is not under way. Takes NULL. */
void tutti_nodes_job_close(struct tutti_nodes_job *job);

#endif
