/* The kind of requests that stand for staged nonblocking collectives. */
#ifndef TUTTI_MPI_MOVE_REQUESTS_H
#define TUTTI_MPI_MOVE_REQUESTS_H

#include "mpi/request/request.h"

struct tutti_exchange;
/* Local; an MPI code. Takes over `exchange`, which was allocated. */
int tutti_collective_put(MPI_Request request, struct tutti_exchange *exchange, int persistent);

#endif
