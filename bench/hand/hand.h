/* Every call beside the same by hand. A call is a row: what it reads and writes on this rank, and how it is made,
 * over a table of MPI functions: the library's for device memory, the MPI's own for data copied by hand. */
#ifndef TUTTI_BENCH_HAND_H
#define TUTTI_BENCH_HAND_H

#include "bench/common/calls.h"
#include "bench/words/hand.h"

enum { HAND_WINDOW_MESSAGES = 16 };

/* One size of a benchmark. */
struct hand {
    const struct bench_plan *plan;
    struct bench_calls mpi[HAND_ALL_WAYS];
    size_t bytes;         /* of a message, of a block for each rank, of a contribution */
    int count;            /* the same, as an int */
    int elements;         /* ints of a contribution to a reduction; of the scatters a multiple of the ranks */
    int n, rank, peer;    /* peer: the other one of a pair; -1: none */
    MPI_Comm ring;        /* periodic, of one dimension: two neighbours */
    int *counts, *displs; /* [ranks]: bytes of a block, and where it lies */
    int *segments;        /* [ranks]: elements of a reduce-scatter */
    MPI_Aint *places;     /* as displs */
    MPI_Datatype *types;  /* [ranks]: MPI_BYTE */
    MPI_Request persistent[HAND_ALL_WAYS]; /* of the row HAND_START */
    MPI_Win window[HAND_ALL_WAYS];         /* of the rows of windows */
};

/* A call's buffers. By hand they are pinned memory; a row that has `copies` copies each message by itself from and to
 * these places on the device, which are NULL otherwise. */
struct hand_buffers {
    char *in, *out;
    char *device_in, *device_out;
};

struct hand_row {
    enum hand_group group;
    const char *name;                                                      /* without MPI_ */
    size_t (*in)(const struct hand *);                                     /* bytes that this rank sends */
    size_t (*out)(const struct hand *);                                    /* bytes that it receives */
    int (*run)(const struct hand *, int way, const struct hand_buffers *); /* an MPI code */
    int (*open)(struct hand *, int way, const struct hand_buffers *);      /* before the first call; may be NULL */
    void (*close)(struct hand *, int way);
    int copies;   /* 1: run() copies by hand what it sends and receives */
    double share; /* a time is this part of a call's; 0: all of it */
};
extern const struct hand_row hand_rows[HAND_CALLS];

/* calls: a mask of enum hand_call_id. */
void bench_hand(struct bench_plan *plan, unsigned long long calls);

#endif
