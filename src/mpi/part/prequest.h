/* Partitioned requests in kernels, at the door: MPIX_Pbuf_prepare, MPIX_Prequest_create and their kin (tutti/mpix.h).
 */
#ifndef TUTTI_MPI_PREQUEST_H
#define TUTTI_MPI_PREQUEST_H

#include "mpi/part/partitioned.h"
#include "tutti/prequest.h"

/* *transports: the info key "tutti_transport_partitions" of a send, 0 without it. An MPI code. */
int tutti_prequest_transports(const char *name, const struct tutti_partitioned_args *args, int *transports);

int tutti_door_MPIX_Pbuf_prepare(MPI_Request request);
int tutti_door_MPIX_Pbuf_prepareall(int count, MPI_Request requests[]);
int tutti_door_MPIX_Prequest_create(MPI_Request request, MPIX_Prequest *prequest);
int tutti_door_MPIX_Prequest_free(MPIX_Prequest *prequest);

#endif
