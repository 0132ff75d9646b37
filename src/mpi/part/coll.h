/* Partitioned collectives at the door: arguments, handles, statuses and errors. The work is of src/part/coll/. */
#ifndef TUTTI_MPI_PART_COLL_H
#define TUTTI_MPI_PART_COLL_H

#include "mpi/part/partitioned.h"
#include "part/coll/pcoll.h"

/* coll_calls.c: the calls, as mpix.h finds them by name. */
#define TUTTI_MPIX_CALL(name, parameters, arguments) int tutti_door_##name parameters;
#include "tutti/mpix_pcoll.def"
#undef TUTTI_MPIX_CALL

/* ---- coll_init.c ---- */

/* One side of a call, as the program has given it. Block i: counts[i], or `count`, elements a partition of types[i], or
 * `type`; at displs[i] extents (bytes with `types`), or one block behind the other. */
struct tutti_pcoll_buffer {
    const void *buffer;
    int used, partitions, blocks;
    MPI_Count count;
    const MPI_Count *counts;
    const MPI_Aint *displs;
    MPI_Datatype type;
    const MPI_Datatype *types;
    const int *peers;  /* [blocks]: NULL: block i is of rank i */
    const int *labels; /* [blocks]: NULL: 0 */
    int skips;         /* 1: this rank's own block is not moved */
    int shared;        /* 1: all blocks are the same one */
};

struct tutti_pcoll_call {
    const char *name;
    enum tutti_pcoll_kind kind;
    MPI_Comm comm;
    int rank, size, root, in_place;
    struct tutti_pcoll_buffer send, recv;
    MPI_Op op; /* of a reduction */
    int reduces;
};

/* Local: reads the communicator: rank, size. An MPI code that is not raised: MPI_ERR_UNSUPPORTED_OPERATION without a
 * device in the job; or one that is: it is none for these calls. */
int tutti_pcoll_begin(struct tutti_pcoll_call *call, const char *name, MPI_Comm comm, const MPI_Request *request);
/* Creates the request. An MPI code. */
int tutti_pcoll_create(const struct tutti_pcoll_call *call, MPI_Request *request);

/* ---- coll_request.c ---- */

/* Puts a new request under watch. args: `combine`, `ended` and `with` are set here. An MPI code, not raised. */
int tutti_pcoll_request(const struct tutti_pcoll_call *call, struct tutti_pcoll_args *args, MPI_Request *request);
/* NULL: the request is none of these. Valid as long as the request; any thread. */
struct tutti_pcoll *tutti_pcoll_find(MPI_Request request, MPI_Comm *comm);
/* 1: the program has started the request and has not completed it, also where the round has ended by itself. */
int tutti_pcoll_is_started(MPI_Request request);
/* Frees the table. */
void tutti_pcoll_forget(void);

#endif
