/* A kind of requests: what a call reads as long as it is in flight. */
#ifndef TUTTI_MPI_REQUEST_COUNTS_H
#define TUTTI_MPI_REQUEST_COUNTS_H

#include "mpi/request/request.h"

/* Local; an MPI code. Lists of counts. Takes over `n` allocated ones. */
enum { TUTTI_COUNTS_LISTS = 4 };
int tutti_counts_put(MPI_Request request, int *const list[], int n, int persistent);

#endif
