/* Messages in stream order, as mpix.h finds them by name: one row a function. */
#ifndef TUTTI_MPI_MESSAGE_ENQUEUE_H
#define TUTTI_MPI_MESSAGE_ENQUEUE_H

#include "mpi/comm/streams.h"

#define COUNT      int
#define NAME(call) tutti_door_##call
#include "mpi/message/enqueue_names.inc"
#undef COUNT
#undef NAME
#define COUNT      MPI_Count
#define NAME(call) tutti_door_##call##_c
#include "mpi/message/enqueue_names.inc"
#undef COUNT
#undef NAME
int tutti_door_MPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status);
int tutti_door_MPIX_Waitall_enqueue(int count, MPI_Request requests[], MPI_Status *statuses);

#endif
