/* Requests that Tutti completes: receives of nothing from this process on a communicator of Tutti's own, which a
 * message ends. So they are real requests, that any completion call of the MPI takes, among others and in any order. */
#ifndef TUTTI_MPI_OWN_H
#define TUTTI_MPI_OWN_H

#include "mpi/door.h"

/* Local. 0, or -1 where there are no more. A persistent one is started as any. */
int tutti_own_request(int persistent, MPI_Request *request, int *tag);
/* The active request of this tag completes. */
void tutti_own_complete(int tag);
/* Nothing will come for the tag. */
void tutti_own_release(int tag);
/* After tutti_own_complete(), of a request that the program has freed: ends it. It is not freed before, since MPICH 4.0
 * forgets that such a receive is still posted. */
void tutti_own_end(int persistent, MPI_Request *request);
/* Before MPI_Finalize; idle: none is open. */
void tutti_own_close(int idle);

#endif
