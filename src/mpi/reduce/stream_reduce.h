/* Reductions in stream order over several nodes, by the host alone: contributions and results are in host memory, and
 * nothing here calls the device, which may keep calls back while the stream waits (progress/gate.h). The ranks exchange
 * contributions by the MPI, and each combines them in the order of nodes and ranks: the bits are those of the
 * algorithms over nodes. */
#ifndef TUTTI_MPI_STREAM_REDUCE_H
#define TUTTI_MPI_STREAM_REDUCE_H

#include "coll/coll.h"
#include "coll/hierarchy.h"
#include "mpi/real/door.h"

/* Alike on all ranks. */
struct tutti_stream_reduction_form {
    const struct tutti_hierarchy *hierarchy;
    size_t piece; /* bytes that are reduced at a time, at most */
    int by_ranks; /* 1: in the order of ranks alone */
};

struct tutti_stream_reduction {
    char *in, *out; /* host memory of the caller: this rank's contribution, and its result */
    size_t in_bytes, out_bytes;
    /* Private to stream_reduce.c. */
    MPI_Comm comm;
    const struct tutti_stream_reduction_form *form;
    struct tutti_call call;
    int ranks, me, two, phase;
    size_t size, each, at;       /* of an element; elements of a piece; where the piece begins */
    size_t *counts;              /* [ranks] */
    struct tutti_result *result; /* [ranks] */
    int *list;                   /* [4 * ranks] */
    const void **from;           /* [3 * ranks]: contributions, those of a node, results of nodes */
    char *room;                  /* contributions of the piece, then results of nodes */
    MPI_Request request;
};

/* Local. The form stays the caller's. The memory `in` and `out`, of as many bytes as it says, is set afterwards. A
 * status; close() in any case. */
int tutti_stream_reduction_open(struct tutti_stream_reduction *r, const struct tutti_call *call, MPI_Comm comm,
                                const struct tutti_stream_reduction_form *form);
void tutti_stream_reduction_close(struct tutti_stream_reduction *r);
/* begin: another time. poll: 1 when it has ended, 0, or a negative status. Neither waits. */
void tutti_stream_reduction_begin(struct tutti_stream_reduction *r);
int tutti_stream_reduction_poll(struct tutti_stream_reduction *r);

#endif
