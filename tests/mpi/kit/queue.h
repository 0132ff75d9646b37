/* A queue: a communicator, its stream and two buffers of device memory on every rank, on which random steps are put
 * in stream order. What every rank's buffers must hold is computed beside it by the oracle, and compared to the last
 * bit when asked. All ranks draw the same steps of a queue, whatever else they do in between. */
#ifndef TUTTI_TESTS_QUEUE_H
#define TUTTI_TESTS_QUEUE_H

#include "kit.h"

#include "tutti/mpix.h"

enum queue_kind {
    QUEUE_FRESH, /* new contributions are copied in */
    QUEUE_COPY,  /* the second buffer to the first, in the stream */
    QUEUE_ALLREDUCE,
    QUEUE_REDUCE,
    QUEUE_REDUCE_SCATTER,
    QUEUE_REDUCE_SCATTER_BLOCK,
    QUEUE_SCAN,
    QUEUE_EXSCAN,
    QUEUE_REDUCE_LOCAL, /* the second buffer is the right operand and the result */
    QUEUE_BCAST,        /* from here to ALLTOALLV: queue_move.h */
    QUEUE_GATHER,
    QUEUE_GATHERV,
    QUEUE_SCATTER,
    QUEUE_SCATTERV,
    QUEUE_ALLGATHER,
    QUEUE_ALLGATHERV,
    QUEUE_ALLTOALL,
    QUEUE_ALLTOALLV,
    QUEUE_BARRIER,
    QUEUE_KINDS
};
extern const char *const queue_names[QUEUE_KINDS];

enum { QUEUE_RANKS = 8, QUEUE_RING = 64 };

struct queue_step {
    enum queue_kind kind;
    int op, in_place, root;
    size_t count, shift; /* elements; shift: of the first one used in the first buffer */
    int counts[QUEUE_RANKS];
    uint64_t seed; /* FRESH */
};

struct queue {
    MPI_Comm comm;
    MPIX_Stream mpix;
    void *stream;
    int rank, size;
    int world[QUEUE_RANKS]; /* rank in the world of each rank */
    uint64_t random;
    size_t most;     /* elements of a step */
    size_t elements; /* of each buffer */
    const struct kit_handle *handle;
    char *buffer[2];             /* device */
    char *model[QUEUE_RANKS][2]; /* what they must hold */
    char *fresh[QUEUE_RING];     /* pinned host memory, in use by copies */
    char *got[2];                /* pinned */
    int ring;
    int talks; /* 1: each step is written to standard error (TUTTI_TEST_STEPS) */
    long steps, wrong;
};

/* 1 if there is a device with streams of which this program can make one. */
int queue_possible(void);
/* Makes an MPIX_Stream of a handle; type: NULL is "tutti_stream". */
int queue_name_stream(const char *type, void *stream, MPIX_Stream *out);
/* Collective over `parent`. Steps take at most `most` elements a rank. */
void queue_open(struct queue *queue, MPI_Comm parent, const char *stream_type, size_t most, uint64_t seed);
/* Collective. */
void queue_close(struct queue *queue);

/* Another type of elements, and fresh contents. */
void queue_set(struct queue *queue, const struct kit_handle *handle);
/* The next random step; kind -1: any. */
struct queue_step queue_draw(struct queue *queue, int kind);
/* Puts the step into the stream; from: pinned memory of FRESH, NULL: the queue's own. */
void queue_put(struct queue *queue, const struct queue_step *step, char *from);
/* The contents of a FRESH step of this rank. */
void queue_contents(const struct queue *queue, const struct queue_step *step, int rank, char *out);
/* What it does to the buffers of all ranks. */
void queue_model(struct queue *queue, const struct queue_step *step);
/* draw, put and model. */
void queue_go(struct queue *queue, int kind);
/* Waits for the stream and compares. Returns 1 if all is right. */
int queue_check(struct queue *queue, const char *when);
/* Waits a bounded time for what is in the stream. */
void queue_sync(struct queue *queue);

#endif
