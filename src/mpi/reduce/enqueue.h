/* Reductions and the barrier in stream order, as mpix.h finds them by name. */
#ifndef TUTTI_MPI_ENQUEUE_H
#define TUTTI_MPI_ENQUEUE_H

#include "mpi/comm/streams.h"
#include "mpi/real/collective_args.h"

int tutti_door_MPIX_Barrier_enqueue(MPI_Comm comm);
#define WIDTHS_OF "mpi/reduce/enqueue_names.inc"
#include "mpi/real/widths.inc"

#endif
