/* Calls in stream order, as mpix.h finds them by name: one row a function. */
#ifndef TUTTI_MPI_ENQUEUE_H
#define TUTTI_MPI_ENQUEUE_H

#include "mpi/comm/streams.h"

int tutti_door_MPIX_Barrier_enqueue(MPI_Comm comm);
#define COUNT      int
#define NAME(call) tutti_door_##call
#include "mpi/reduce/enqueue_names.inc"
#undef COUNT
#undef NAME
#define COUNT      MPI_Count
#define NAME(call) tutti_door_##call##_c
#include "mpi/reduce/enqueue_names.inc"
#undef COUNT
#undef NAME

#endif
