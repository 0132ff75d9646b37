/* Calls that complete requests, whose requests may be under watch: completion.c. plain.c calls them where anything is
 * open. Arguments and results are those of the MPI's calls. */
#ifndef TUTTI_MPI_COMPLETION_H
#define TUTTI_MPI_COMPLETION_H

#include "mpi/real/door.h"

int tutti_completion_wait(MPI_Request *request, MPI_Status *status);
int tutti_completion_test(MPI_Request *request, int *flag, MPI_Status *status);
int tutti_completion_waitall(int n, MPI_Request requests[], MPI_Status *statuses);
int tutti_completion_testall(int n, MPI_Request requests[], int *flag, MPI_Status *statuses);
int tutti_completion_waitany(int n, MPI_Request requests[], int *which, MPI_Status *status);
int tutti_completion_testany(int n, MPI_Request requests[], int *which, int *flag, MPI_Status *status);
int tutti_completion_waitsome(int n, MPI_Request requests[], int *out, int which[], MPI_Status *statuses);
int tutti_completion_testsome(int n, MPI_Request requests[], int *out, int which[], MPI_Status *statuses);

#endif
