/* Reductions at the door, for both widths of counts, blocking and nonblocking. The door records the arguments and reads
 * them. The outcome: the MPI makes the call as it is or staged, or the communicator's team makes it. */
#ifndef TUTTI_MPI_REDUCTION_H
#define TUTTI_MPI_REDUCTION_H

#include "coll/coll.h"
#include "mpi/bounce/stage.h"
#include "mpi/real/handles.h"

/* The arguments of the program, unchecked. */
struct tutti_reduction_args {
    enum tutti_collective collective;
    int large;        /* 1: the _c form */
    const char *name; /* static */
    const void *sendbuf;
    void *recvbuf;
    MPI_Count count;        /* REDUCE_SCATTER_BLOCK: of one segment; REDUCE_SCATTER: not used */
    const void *recvcounts; /* REDUCE_SCATTER alone: the program's array, of int, or of MPI_Count where large */
    int root;               /* REDUCE alone */
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Comm comm;
};

/* The outcome of reading a call. */
enum tutti_reading {
    TUTTI_READ_UNTOUCHED, /* goes to the MPI as it is: there is nothing to do, or an error that the MPI finds */
    TUTTI_READ_STAGED,    /* goes to the MPI, device buffers staged in host memory; `why`: the reason */
    TUTTI_READ_FAILED,    /* the communicator has failed with `status` */
    TUTTI_READ_TEAM       /* `call` is for tutti_reduce_run() over `team` */
};
/* What the memory of the buffers is that the MPI may read or write on this rank, where the call has asked. */
struct tutti_reduction_there {
    int asked;
    struct tutti_memory in, out;
};
/* Must not be copied: call.counts may point into it. */
struct tutti_read {
    const char *why;
    int status;
    struct tutti_team *team;
    int early; /* 1: the team was still being made */
    struct tutti_call call;
    struct tutti_reduction_there there;
    size_t *many, few[TUTTI_MAX_RANKS]; /* REDUCE_SCATTER: counts */
};
/* Local: reads a nonblocking call. The team of a new communicator may not be complete yet. tutti_read_end() frees what
 * it took. */
enum tutti_reading tutti_read_nonblocking(const struct tutti_reduction_args *args, struct tutti_read *out);
void tutti_read_end(struct tutti_read *read);

/* The reason for which kernels cannot reduce the pair; static text. type: NULL for a type that Tutti does not know. */
const char *tutti_not_reducible(const struct tutti_type_row *type, int operation);

/* The buffers of a call that the MPI reduces: device memory is replaced by host memory. Buffers that the call does
 * not use on this rank are not read. */
struct tutti_staging {
    const void *sendbuf; /* for the MPI */
    void *recvbuf;
    int staged; /* 0: both are the program's */
    MPI_Count results;
    struct tutti_stage in, out;
};
/* Local. Copies in; returns a status of Tutti, and holds nothing after a failure. there: NULL, or the memory of the
 * buffers now. blocking: tutti_staging_close() is called as soon as the MPI has made the call. */
int tutti_staging_open(struct tutti_staging *staging, const struct tutti_reduction_args *args,
                       const struct tutti_reduction_there *there, int blocking);
/* Local. Copies the results out if `code` is MPI_SUCCESS; frees the host memory. Returns a status of Tutti. */
int tutti_staging_close(struct tutti_staging *staging, int code);
/* Counts a call that the MPI makes with staged buffers, or with the program's. why: a text of tutti_reasons. Called
 * before the staging is closed. */
void tutti_staging_count(const struct tutti_staging *staging, const char *name, const char *why);

/* reduction_calls.c: the MPI's own call, blocking and nonblocking, with these buffers; does not raise tutti_inside.
 * Returns the MPI's code. */
int tutti_reduction_real(const struct tutti_reduction_args *args, const void *sendbuf, void *recvbuf);
int tutti_ireduction_real(const struct tutti_reduction_args *args, const void *sendbuf, void *recvbuf,
                          MPI_Request *request);

/* 1 if the call has found that neither buffer is in memory of a device. */
static inline int tutti_reduction_on_host(const struct tutti_reduction_there *there)
{
    return there->asked && there->in.kind != TUTTI_MEMORY_DEVICE && there->out.kind != TUTTI_MEMORY_DEVICE;
}

/* 1 while this process cannot have memory of the device. */
static inline int tutti_host_only(void)
{
    return !tutti_device_active(tutti_door.device);
}

/* 1 if the MPI refuses to reduce from a buffer into the same one. */
static inline int tutti_alias_is_refused(enum tutti_collective collective, MPI_Count count)
{
    return tutti_quirks.refuses_alias || (tutti_quirks.refuses_alias_reduce && collective == TUTTI_COLLECTIVE_REDUCE) ||
           (tutti_quirks.refuses_alias_allreduce && collective == TUTTI_COLLECTIVE_ALLREDUCE && count > 1);
}
/* The same for a whole call on this rank, before the MPI gets the program's buffers. */
int tutti_alias_of_call_is_refused(const struct tutti_reduction_args *args);

/* 1 if the buffers show none of the errors that the MPI finds by itself, before it talks to peers. `gets`: this rank
 * has a result. */
static inline int tutti_buffers_fine(enum tutti_collective collective, const void *sendbuf, const void *recvbuf,
                                     MPI_Count count, int gets)
{
    int reduce = collective == TUTTI_COLLECTIVE_REDUCE;
    if (unlikely(!sendbuf))
        return 0;
    if (sendbuf == MPI_IN_PLACE)
        return (gets || !reduce) && recvbuf && recvbuf != MPI_IN_PLACE;
    int alias = unlikely(sendbuf == recvbuf) && tutti_alias_is_refused(collective, count);
    if (!gets)
        return reduce || !alias;
    return recvbuf && recvbuf != MPI_IN_PLACE && !alias;
}

#endif
