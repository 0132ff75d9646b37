/* Starts nonblocking messages on behalf of another call, under whose name they are counted: MPI_Isend and MPI_Irecv
 * as the program would call them. there: what the call knows about the buffer. */
#ifndef TUTTI_MPI_START_H
#define TUTTI_MPI_START_H

#include "mpi/bounce/stage.h"
#include "mpi/real/mpi_api.h"

int tutti_door_isend_as(const char *name, const struct tutti_there *there, const void *buf, int count,
                        MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request);
int tutti_door_isend_as_c(const char *name, const struct tutti_there *there, const void *buf, MPI_Count count,
                          MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request);
int tutti_door_irecv_as(const char *name, const struct tutti_there *there, void *buf, int count, MPI_Datatype datatype,
                        int source, int tag, MPI_Comm comm, MPI_Request *request);
int tutti_door_irecv_as_c(const char *name, const struct tutti_there *there, void *buf, MPI_Count count,
                          MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request);

/* Local, once the endpoint is open: receives of host memory are watched only where they must be (request/unwatched.h).
 */
void tutti_receives_begin(void);
/* From now on all are watched: RTSs may arrive, or several threads may receive. */
void tutti_receives_end(void);

#endif
