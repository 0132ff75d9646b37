/* Partitioned collectives: each rank marks partitions of its contribution as ready, in any order and from any thread,
 * and each partition advances by itself through the steps of a schedule. A step waits for partitions of neighbours,
 * combines or copies, and marks partitions of messages to neighbours. The messages are partitioned messages of part.h.
 * Source: "Design and Implementation of MPI-Native GPU-Initiated MPI Partitioned Communication" (ExaMPI 2024).
 *
 * All ranks of the communicator create their collectives in the same order. All calls are local, wait for no rank and
 * are safe from any thread that may use the transport. Buffers are host or device memory. */
#ifndef TUTTI_PART_COLL_PCOLL_H
#define TUTTI_PART_COLL_PCOLL_H

#include "part/part.h"

enum tutti_pcoll_kind {
    TUTTI_PCOLL_BCAST,
    TUTTI_PCOLL_MOVE, /* each block has one sender and one receiver */
    TUTTI_PCOLL_ALLGATHER,
    TUTTI_PCOLL_ALLREDUCE,
    TUTTI_PCOLL_REDUCE,
    TUTTI_PCOLL_REDUCE_SCATTER,
    TUTTI_PCOLL_SCAN,
    TUTTI_PCOLL_EXSCAN
};

/* Partition p of a block: `count` elements from buffer + offset + p * count extents on. */
struct tutti_pcoll_block {
    int peer;       /* rank of the communicator; -1: none, nothing is moved */
    int label;      /* blocks between two ranks are paired by it; 0 where there is one */
    int64_t offset; /* bytes from the side's buffer */
    int64_t count;  /* elements of a partition */
    const struct tutti_plan *plan;
    int in_order, solid; /* as in struct tutti_part_args */
};

/* What a rank contributes, or gets. */
struct tutti_pcoll_side {
    int used; /* 0: this rank contributes, or gets, nothing */
    void *buffer;
    int partitions, blocks;
    struct tutti_pcoll_block *block;
};

/* The blocks: BCAST, ALLREDUCE, REDUCE, SCAN, EXSCAN: one on each side. MOVE: one for each peer. ALLGATHER: send: one;
 * recv: one for each rank. REDUCE_SCATTER: send: one for each rank; recv: one. Both sides of a reduction have the same
 * number of partitions. In place both sides have the same buffer. */
struct tutti_pcoll_args {
    enum tutti_pcoll_kind kind;
    int rank, size, root;
    const int *world; /* [size]: ranks of the transport; copied */
    const int *node;  /* [size]: the node of each rank; copied. NULL: contributions are combined in rank order alone */
    uint64_t comm;    /* the communicator, as in struct tutti_part_args */
    struct tutti_pcoll_side send, recv; /* blocks are copied; plans are held by the owner */
    int in_place;
    int type, op; /* a pair with a kernel; TUTTI_TYPE_NONE: `combine` combines host memory */
    /* *inout = *in op *inout, `count` elements. A status. */
    int (*combine)(void *with, const void *in, void *inout, int64_t count);
    /* A round has ended. Called with a lock of this room held: it does not call this room, and does not wait. */
    void (*ended)(void *with);
    void *with;
};

struct tutti_pcoll;

/* Collective over the transport, after tutti_part_open(): agrees on rules. */
void tutti_pcoll_open(struct tutti_transport *transport);
/* Local. Nothing is under way any more. */
void tutti_pcoll_close(void);

/* Collective over the communicator in its order; waits for no rank. NULL without memory. */
struct tutti_pcoll *tutti_pcoll_new(const struct tutti_pcoll_args *args);
/* It is not active. Takes NULL. */
void tutti_pcoll_free(struct tutti_pcoll *pcoll);

/* Begins a round. A status; TUTTI_ERR_ARGUMENT: it is active. */
int tutti_pcoll_start(struct tutti_pcoll *pcoll);
/* As tutti_part_ready() and its companions. NO_SEND: this rank contributes nothing; NO_RECEIVE: it gets nothing. */
enum tutti_part_wrong tutti_pcoll_ready(struct tutti_pcoll *pcoll, int first, int last);
enum tutti_part_wrong tutti_pcoll_ready_list(struct tutti_pcoll *pcoll, int n, const int partitions[]);
/* *flag: the partition of all blocks of the result is there. */
enum tutti_part_wrong tutti_pcoll_arrived(struct tutti_pcoll *pcoll, int partition, int *flag);
/* Local: a device request, as tutti_part_prequest_new() and tutti_part_prequest_end(): kernels mark partitions of the
 * contribution, and see those of the result. */
int tutti_pcoll_prequest_new(struct tutti_pcoll *pcoll, struct tutti_prequest *out);
int tutti_pcoll_prequest_end(struct tutti_pcoll *pcoll);
/* Of the last round that has ended: TUTTI_OK or why it failed; 1: a message was longer than its place. */
int tutti_pcoll_status(const struct tutti_pcoll *pcoll);
/* The algorithm that was chosen. Static. */
const char *tutti_pcoll_algorithm(const struct tutti_pcoll *pcoll);
/* Packed bytes that this rank contributes to a round. */
uint64_t tutti_pcoll_bytes(const struct tutti_pcoll *pcoll);

#endif
