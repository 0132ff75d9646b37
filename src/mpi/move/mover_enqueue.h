/* Collectives that move data, in stream order, as mpix.h finds them by name. */
#ifndef TUTTI_MPI_MOVER_ENQUEUE_H
#define TUTTI_MPI_MOVER_ENQUEUE_H

#include "mpi/move/collective.h"
#include "mpi/real/collective_args.h"

#define WIDTHS_OF "mpi/move/mover_enqueue_names.inc"
#include "mpi/real/widths.inc"

#endif
