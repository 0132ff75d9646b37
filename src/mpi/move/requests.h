/* The kind of requests that stand for staged nonblocking collectives. */
#ifndef TUTTI_MPI_MOVE_REQUESTS_H
#define TUTTI_MPI_MOVE_REQUESTS_H

#include "mpi/request/request.h"

struct tutti_exchange;
/* Local, before the MPI's call is made. Takes over `exchange`, an allocation, with tutti_request_begun(). NULL: no
 * memory. */
struct tutti_request *tutti_collective_entry(struct tutti_exchange *exchange, int persistent);

#endif
