/* Reductions on a communicator over several nodes: which calls go in two levels (coll/nodes.h). Whether all ranks bring
 * device memory is agreed now and then by a small reduction of the MPI; the calls between do the same as the last one.
 * So all ranks decide alike, in the order of the calls on the communicator. */
#ifndef TUTTI_MPI_OVER_NODES_H
#define TUTTI_MPI_OVER_NODES_H

#include "coll/nodes.h"
#include "mpi/comm/comms.h"

/* For tutti_comms_open(). */
struct tutti_over_nodes *tutti_over_nodes_new(int ranks);
void tutti_over_nodes_free(struct tutti_over_nodes *over);

/* Collective; blocking: in two levels on a communicator over several nodes, otherwise tutti_reduce_run() on the team. A
 * status, and its outputs. */
int tutti_over_nodes_or_team(MPI_Comm handle, struct tutti_team *team, const struct tutti_call *call, const char *name,
                             enum tutti_reduce_outcome *taken, const char **why);

#endif
