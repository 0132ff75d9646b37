/* Data movers without a request of the program. */
#ifndef TUTTI_MPI_MOVES_H
#define TUTTI_MPI_MOVES_H

#include "mpi/move/collective.h"

struct tutti_open_call;

/* As tutti_open_call_quiet(), of a collective that moves data. The call holds all objects that it names. */
struct tutti_open_call *tutti_moves_quiet(const struct tutti_collective_args *args,
                                          void (*ended)(struct tutti_open_call *open));

#endif
