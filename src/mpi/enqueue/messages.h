/* Messages in stream order, as mpix.h finds them by name: one row a function. */
#ifndef TUTTI_MPI_ENQUEUE_MESSAGES_H
#define TUTTI_MPI_ENQUEUE_MESSAGES_H

#include "mpi/comm/streams.h"

#define WIDTHS_OF "mpi/enqueue/messages_names.inc"
#include "mpi/real/widths.inc"
int tutti_door_MPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status);
int tutti_door_MPIX_Waitall_enqueue(int count, MPI_Request requests[], MPI_Status *statuses);

#endif
