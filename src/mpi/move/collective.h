/* Collectives that move data without reducing it: a call as the program made it, and the three ways that one goes, by
 * its form. The wrapped calls (rooted.inc, among_all.inc, neighbours.inc) say what they were given and go one of them.
 */
#ifndef TUTTI_MPI_COLLECTIVE_H
#define TUTTI_MPI_COLLECTIVE_H

#include "mpi/real/door.h"
#include "team/control.h"

/* One buffer of a call. */
struct tutti_half {
    const void *buffer;
    MPI_Count count;    /* of each block, where there are no counts */
    const void *counts; /* one for each rank, int or MPI_Count; NULL: `count` */
    const void *displs; /* likewise, int or MPI_Aint: in extents of the type, or bytes where there are types */
    MPI_Datatype type;
    const MPI_Datatype *types; /* one for each rank, or NULL */
    int aint;                  /* displs are MPI_Aint also where counts are int */
};

static inline struct tutti_half tutti_half(const void *buffer, MPI_Count count, MPI_Datatype type)
{
    return (struct tutti_half){.buffer = buffer, .count = count, .type = type};
}
/* Of a call whose name ends in v. */
static inline struct tutti_half tutti_half_v(const void *buffer, const void *counts, const void *displs,
                                             MPI_Datatype type)
{
    return (struct tutti_half){.buffer = buffer, .counts = counts, .displs = displs, .type = type};
}
/* In w. */
static inline struct tutti_half tutti_half_w(const void *buffer, const void *counts, const void *displs,
                                             const MPI_Datatype *types, int aint)
{
    return (struct tutti_half){.buffer = buffer,
                               .counts = counts,
                               .displs = displs,
                               .type = tutti_handles.no_type,
                               .types = types,
                               .aint = aint};
}

/* A call as the program made it, or as the MPI is given it. A broadcast's buffer is both halves. */
struct tutti_collective_args {
    enum tutti_collective collective;
    const char *name; /* of this form and width */
    int large;        /* counts are MPI_Count, displacements MPI_Aint */
    MPI_Comm comm;
    int root; /* 0 where there is none */
    struct tutti_half in, out;
};

enum tutti_collective_form { TUTTI_BLOCKING, TUTTI_NONBLOCKING, TUTTI_PERSISTENT };

/* Each returns the code for the program; errors have gone to the communicator's handler. For processes that may have
 * device memory; what is in host memory goes on to the MPI. */
int tutti_collective_blocking(const struct tutti_collective_args *args);
int tutti_collective_nonblocking(const struct tutti_collective_args *args, MPI_Request *request);
int tutti_collective_persistent(const struct tutti_collective_args *args, MPI_Info info, MPI_Request *request);
/* The blocking form of MPI_Bcast, MPI_Allgather and MPI_Alltoall, whose buffers are one run of elements each. */
int tutti_collective_whole(const struct tutti_collective_args *args);

/* collective_real.c: the MPI's own call, with these very arguments. info: of a persistent one; request: not of a
 * blocking one. */
int tutti_collective_real(const struct tutti_collective_args *args, enum tutti_collective_form form, MPI_Info info,
                          MPI_Request *request);

#endif
