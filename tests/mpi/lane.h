/* A lane: a communicator, its stream and two buffers of device memory on every rank, on which random steps are put in
 * stream order. What every rank's buffers must hold is computed beside it by the oracle, and compared to the last bit
 * when asked. All ranks draw the same steps of a lane, whatever else they do in between. */
#ifndef TUTTI_TESTS_LANE_H
#define TUTTI_TESTS_LANE_H

#include "kit.h"

#include "tutti/mpix.h"

enum lane_kind {
    LANE_FRESH, /* new contributions are copied in */
    LANE_COPY,  /* the second buffer to the first, in the stream */
    LANE_ALLREDUCE,
    LANE_REDUCE,
    LANE_REDUCE_SCATTER,
    LANE_REDUCE_SCATTER_BLOCK,
    LANE_SCAN,
    LANE_EXSCAN,
    LANE_BARRIER,
    LANE_KINDS
};
extern const char *const lane_names[LANE_KINDS];

enum { LANE_RANKS = 8, LANE_RING = 64 };

struct lane_step {
    enum lane_kind kind;
    int op, in_place, root;
    size_t count, shift; /* elements; shift: of the first one used in the first buffer */
    int counts[LANE_RANKS];
    uint64_t seed; /* FRESH */
};

struct lane {
    MPI_Comm comm;
    MPIX_Stream mpix;
    void *stream;
    int rank, size;
    uint64_t random;
    size_t most;     /* elements of a step */
    size_t elements; /* of each buffer */
    const struct kit_handle *handle;
    char *buffer[2];            /* device */
    char *model[LANE_RANKS][2]; /* what they must hold */
    char *fresh[LANE_RING];     /* pinned host memory, in use by copies */
    char *got[2];               /* pinned */
    int ring;
    long steps, wrong;
};

/* 1 where there is a device with streams of which this program can make one. */
int lane_possible(void);
/* Makes an MPIX_Stream of a handle; type: NULL is "tutti_stream". */
int lane_name_stream(const char *type, void *stream, MPIX_Stream *out);
/* Collective over `parent`. Steps take at most `most` elements a rank. */
void lane_open(struct lane *lane, MPI_Comm parent, const char *stream_type, size_t most, uint64_t seed);
/* Collective. */
void lane_close(struct lane *lane);

/* Another type of elements, and fresh contents. */
void lane_set(struct lane *lane, const struct kit_handle *handle);
/* The next random step; kind -1: any. */
struct lane_step lane_draw(struct lane *lane, int kind);
/* Puts the step into the stream; from: pinned memory of FRESH, NULL: the lane's own. */
void lane_put(struct lane *lane, const struct lane_step *step, char *from);
/* The contents of a FRESH step of this rank. */
void lane_contents(const struct lane *lane, const struct lane_step *step, int rank, char *out);
/* What it does to the buffers of all ranks. */
void lane_model(struct lane *lane, const struct lane_step *step);
/* draw, put and model. */
void lane_go(struct lane *lane, int kind);
/* Waits for the stream and compares. Returns 1 where all is right. */
int lane_check(struct lane *lane, const char *when);
/* Waits a bounded time for what is in the stream. */
void lane_sync(struct lane *lane);

#endif
