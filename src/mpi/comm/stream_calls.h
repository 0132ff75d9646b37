/* What calls in stream order have in common: their communicator, the memory that they take, and their errors. */
#ifndef TUTTI_MPI_STREAM_CALLS_H
#define TUTTI_MPI_STREAM_CALLS_H

#include "mpi/comm/streams.h"

/* All are local; `name` is the call's. */

/* The communicator of a call in stream order. NULL: it has no stream, which is reported and raised; the call returns
 * *code. */
const struct tutti_comm *tutti_stream_comm(const char *name, MPI_Comm comm, int *code);
/* Reports why the call is not made, counts it, and raises `code` on the communicator. Returns the code. */
int tutti_stream_refuse(const char *name, MPI_Comm comm, int code, const char *why);
/* The same of a status with which rooms below have refused it. */
int tutti_stream_refuse_status(const char *name, MPI_Comm comm, int status);
/* 1 if kernels of the stream's GPU reach what is at that address. */
int tutti_stream_reaches(const struct tutti_mpix_stream *stream, const void *at);

#endif
