/* Calls that complete requests, whose requests may be under watch: completion.c. plain.c calls them where anything is
 * open. Arguments and results are those of the MPI's calls. */
#ifndef TUTTI_MPI_COMPLETION_H
#define TUTTI_MPI_COMPLETION_H

#include "mpi/real/door.h"

int tutti_completion_wait(MPI_Request *request, MPI_Status *status);
int tutti_completion_test(MPI_Request *request, int *flag, MPI_Status *status);
int tutti_completion_waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses);
int tutti_completion_testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses);
int tutti_completion_waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status);
int tutti_completion_testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status);
int tutti_completion_waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                              MPI_Status *array_of_statuses);
int tutti_completion_testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                              MPI_Status *array_of_statuses);

#endif
