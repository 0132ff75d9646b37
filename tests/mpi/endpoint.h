/* A endpoint: a communicator, its stream and two buffers of device memory on every rank, on which random steps are put
 * in stream order. What every rank's buffers must hold is computed beside it by the oracle, and compared to the last
 * bit when asked. All ranks draw the same steps of a endpoint, whatever else they do in between. */
#ifndef TUTTI_TESTS_ENDPOINT_H
#define TUTTI_TESTS_ENDPOINT_H

#include "kit.h"

#include "tutti/mpix.h"

enum endpoint_kind {
    ENDPOINT_FRESH, /* new contributions are copied in */
    ENDPOINT_COPY,  /* the second buffer to the first, in the stream */
    ENDPOINT_ALLREDUCE,
    ENDPOINT_REDUCE,
    ENDPOINT_REDUCE_SCATTER,
    ENDPOINT_REDUCE_SCATTER_BLOCK,
    ENDPOINT_SCAN,
    ENDPOINT_EXSCAN,
    ENDPOINT_BARRIER,
    ENDPOINT_KINDS
};
extern const char *const endpoint_names[ENDPOINT_KINDS];

enum { ENDPOINT_RANKS = 8, ENDPOINT_RING = 64 };

struct endpoint_step {
    enum endpoint_kind kind;
    int op, in_place, root;
    size_t count, shift; /* elements; shift: of the first one used in the first buffer */
    int counts[ENDPOINT_RANKS];
    uint64_t seed; /* FRESH */
};

struct endpoint {
    MPI_Comm comm;
    MPIX_Stream mpix;
    void *stream;
    int rank, size;
    uint64_t random;
    size_t most;     /* elements of a step */
    size_t elements; /* of each buffer */
    const struct kit_handle *handle;
    char *buffer[2];                /* device */
    char *model[ENDPOINT_RANKS][2]; /* what they must hold */
    char *fresh[ENDPOINT_RING];     /* pinned host memory, in use by copies */
    char *got[2];                   /* pinned */
    int ring;
    long steps, wrong;
};

/* 1 where there is a device with streams of which this program can make one. */
int endpoint_possible(void);
/* Makes an MPIX_Stream of a handle; type: NULL is "tutti_stream". */
int endpoint_name_stream(const char *type, void *stream, MPIX_Stream *out);
/* Collective over `parent`. Steps take at most `most` elements a rank. */
void endpoint_open(struct endpoint *endpoint, MPI_Comm parent, const char *stream_type, size_t most, uint64_t seed);
/* Collective. */
void endpoint_close(struct endpoint *endpoint);

/* Another type of elements, and fresh contents. */
void endpoint_set(struct endpoint *endpoint, const struct kit_handle *handle);
/* The next random step; kind -1: any. */
struct endpoint_step endpoint_draw(struct endpoint *endpoint, int kind);
/* Puts the step into the stream; from: pinned memory of FRESH, NULL: the endpoint's own. */
void endpoint_put(struct endpoint *endpoint, const struct endpoint_step *step, char *from);
/* The contents of a FRESH step of this rank. */
void endpoint_contents(const struct endpoint *endpoint, const struct endpoint_step *step, int rank, char *out);
/* What it does to the buffers of all ranks. */
void endpoint_model(struct endpoint *endpoint, const struct endpoint_step *step);
/* draw, put and model. */
void endpoint_go(struct endpoint *endpoint, int kind);
/* Waits for the stream and compares. Returns 1 where all is right. */
int endpoint_check(struct endpoint *endpoint, const char *when);
/* Waits a bounded time for what is in the stream. */
void endpoint_sync(struct endpoint *endpoint);

#endif
