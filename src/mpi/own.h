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
/* Before MPI_Finalize; idle: none is open. */
void tutti_own_close(int idle);

#endif
