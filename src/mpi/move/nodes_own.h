/* What blocking and nonblocking moves over nodes share. Private to nodes*.c. */
#ifndef TUTTI_MPI_NODES_MOVES_OWN_H
#define TUTTI_MPI_NODES_MOVES_OWN_H

#include "mpi/move/mover_own.h"

/* nodes.c. 1 if all ranks count the call: all know that it is right and moves something, or that it may. *call is set,
 * as of a rank with host memory. */
int tutti_mover_nodes_read(const struct tutti_collective_args *args, const struct tutti_team *team,
                           struct tutti_call *call);
/* What this rank brings to the agreement: call->kind. described: 0: its blocks are not known. Returns the bytes of its
 * largest block. */
uint64_t tutti_mover_nodes_kind(const struct tutti_mover *x, struct tutti_call *call, int described);

#endif
