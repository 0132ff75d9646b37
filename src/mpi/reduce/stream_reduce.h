/* Reductions in stream order over several nodes: what the host does for a piece of a call. Contributions and results
 * are in host memory, and nothing here but a combination in a stream calls the device, which may keep calls back while
 * the stream waits (progress/gate.h). The ranks exchange contributions by the MPI, and each combines them in the order
 * of nodes and ranks: the bits are those of the algorithms over nodes. */
#ifndef TUTTI_MPI_STREAM_REDUCE_H
#define TUTTI_MPI_STREAM_REDUCE_H

#include "coll/coll.h"
#include "coll/hierarchy.h"
#include "mpi/real/door.h"

/* Alike on all ranks. */
struct tutti_stream_reduction_form {
    const struct tutti_hierarchy *hierarchy;
    size_t piece; /* bytes of a piece, at most */
    int by_ranks; /* 1: in the order of ranks alone */
};

enum { TUTTI_STREAM_PIECES = 4 }; /* in host memory at a time */

/* A call. */
struct tutti_stream_reduction {
    MPI_Comm comm;
    const struct tutti_stream_reduction_form *form;
    struct tutti_call call;
    int ranks, me;
    int two;                     /* 1: in two rounds: the ranks exchange slices, then results */
    size_t size, each, pieces;   /* bytes of an element; elements of a piece; pieces */
    size_t *counts;              /* [ranks] */
    struct tutti_result *result; /* [ranks] */
};

/* A piece of it, and later another one in the same memory. */
struct tutti_stream_piece {
    const struct tutti_stream_reduction *of;
    size_t at;         /* its first element: set by the caller */
    char *in;          /* this rank's contribution */
    char *room;        /* contributions to this rank's part, then results of nodes */
    char *out;         /* in two rounds the whole result, otherwise this rank's */
    int *list;         /* [4 * ranks] */
    const void **from; /* [3 * ranks]: contributions, those of a node, results of nodes */
    int round;
    MPI_Request request;
};

/* Local. The form stays the caller's. A status; close() in any case. */
int tutti_stream_reduction_open(struct tutti_stream_reduction *r, const struct tutti_call *call, MPI_Comm comm,
                                const struct tutti_stream_reduction_form *form);
void tutti_stream_reduction_close(struct tutti_stream_reduction *r);

/* Bytes of host memory for a piece: in, room, out. */
struct tutti_stream_room {
    size_t in, room, out;
};
struct tutti_stream_room tutti_stream_piece_room(const struct tutti_stream_reduction *r);
/* memory: as many bytes as all three together. A status; close() in any case. */
int tutti_stream_piece_open(struct tutti_stream_piece *p, const struct tutti_stream_reduction *r, char *memory);
void tutti_stream_piece_close(struct tutti_stream_piece *p);
/* Elements of the piece that begins there; those of them that rank q combines, from its beginning on. */
size_t tutti_stream_piece_count(const struct tutti_stream_reduction *r, size_t at);
struct tutti_result tutti_stream_piece_of(const struct tutti_stream_reduction *r, size_t at, int q);

/* Start p->request: contributions from `in` to `room`; results within `out`. An MPI code. */
int tutti_stream_piece_send(struct tutti_stream_piece *p);
int tutti_stream_piece_send_results(struct tutti_stream_piece *p);
/* This rank's part, with its own contribution `own`, to `out`: by the host, or by kernels in the stream. A status. */
int tutti_stream_piece_combine(struct tutti_stream_piece *p, const void *own, void *out, struct tutti_stream *stream);
/* All of a call of one piece by the host alone, after `round` was set to 0: 1 when it has ended, 0, or a negative
 * status. Never waits. */
int tutti_stream_piece_poll(struct tutti_stream_piece *p);

#endif
