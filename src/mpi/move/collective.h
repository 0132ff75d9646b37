/* Collectives that move data without reducing it: the arguments of a call, and its blocking, nonblocking and persistent
 * form. The wrapped calls are made from the rows of collectives.def: blocking ones by collective_calls.inc, the others
 * by mpi/reduce/moves.inc. */
#ifndef TUTTI_MPI_COLLECTIVE_H
#define TUTTI_MPI_COLLECTIVE_H

#include "core/reasons.h"
#include "mpi/bounce/buffer.h"
#include "team/control.h"

struct tutti_exchange;

/* The arguments of the program's call, or of the MPI's. A broadcast's buffer is both `in` and `out`. */
struct tutti_collective_args {
    enum tutti_collective collective;
    const char *name; /* of this form and width */
    int large;        /* counts are MPI_Count, displacements MPI_Aint */
    MPI_Comm comm;
    int root;                    /* 0 if the call has no root */
    struct tutti_buffer in, out; /* the send buffer and the receive buffer */
};

enum tutti_collective_form { TUTTI_BLOCKING, TUTTI_NONBLOCKING, TUTTI_PERSISTENT };

/* Each returns the code for the program; errors have gone to the communicator's handler. For processes that may have
 * device memory; calls with host memory go on to the MPI. */
int tutti_collective_blocking(const struct tutti_collective_args *args);
int tutti_collective_nonblocking(const struct tutti_collective_args *args, MPI_Request *request);
int tutti_collective_persistent(const struct tutti_collective_args *args, MPI_Info info, MPI_Request *request);
/* Makes the MPI's own nonblocking call of a deferred call, staged for this reason. An MPI code; the caller raises
 * errors. *out: must be ended when the request has completed; NULL on failure. end: `code` is the request's
 * result; takes NULL. A status. */
int tutti_collective_staged(const struct tutti_collective_args *args, enum tutti_reason reason, MPI_Request *request,
                            struct tutti_exchange **out);
int tutti_collective_staged_end(struct tutti_exchange *exchange, int code);
/* Local, before tutti_collective_put(): an all-to-all in place is made with two buffers (quirks.h). put() copies what
 * is sent out of the receive buffer. */
void tutti_collective_apart(struct tutti_collective_args *args);
/* The same in three parts, in the order of a stream, for a call whose buffers kernels of the stream reach: put: copies
 * in; start: the MPI's call on host memory alone, without a call of the device; out: copies out; end: the stream has
 * passed them. put, out: a status. start: an MPI code. */
int tutti_collective_put(const struct tutti_collective_args *args, struct tutti_stream *stream, int gpu,
                         struct tutti_exchange **out);
int tutti_collective_start(const struct tutti_exchange *exchange, const struct tutti_collective_args *args,
                           MPI_Request *request);
int tutti_collective_out(struct tutti_exchange *exchange);
void tutti_collective_end(struct tutti_exchange *exchange);
/* contiguous.c: the blocking form of MPI_Bcast, MPI_Allgather and MPI_Alltoall, staged. */
int tutti_collective_contiguous(const struct tutti_collective_args *args);

/* collective_calls.c: the MPI's own call, with exactly these arguments. info: for a persistent call; request: not
 * for a blocking one. */
int tutti_collective_real(const struct tutti_collective_args *args, enum tutti_collective_form form, MPI_Info info,
                          MPI_Request *request);

#endif
