/* Messages and collectives that move data: latency, bandwidth, rate and overlap. A transfer is a row: which blocks this
 * rank sends and receives, and how the call is made over a table of MPI functions, in a stream, and by NCCL. */
#ifndef TUTTI_BENCH_TRANSFER_H
#define TUTTI_BENCH_TRANSFER_H

#include "bench/common/calls.h"
#include "bench/common/nccl.h"
#include "bench/words/transfer.h"

struct transfer_plan {
    int id;          /* enum transfer_id */
    int window;      /* messages of a window */
    int nonblocking; /* 1: overlap */
    int tests;       /* MPI_Test calls inside the computation */
    int steps;       /* 1: messages: the time between steps of the library's */
    unsigned host;   /* movers: bit of each enum transfer_host: buffers in host memory */
    int fresh;       /* messages: calls of new memory that are timed first; 0: none */
};

/* Memory that several ways share. `device` is NULL but for HAND, whose in and out are pinned host memory, where the
 * program's buffer is in device memory. */
struct transfer_buffers {
    char *in, *out;
    char *device_in, *device_out;
};

struct transfer_row;
struct transfer {
    const struct bench_plan *plan;
    const struct transfer_plan *what;
    const struct transfer_row *row;
    struct bench_calls mpi[TRANSFER_WAYS];
    MPI_Comm comm;    /* of the call: all ranks, or the ring */
    MPI_Comm ordered; /* the same in stream order; MPI_COMM_NULL: none */
    int n, rank;
    int peer;             /* messages: the other rank of the pair; -1: none */
    int sends;            /* messages: 1: this rank sends windows */
    int left, right;      /* of the ring */
    int *counts, *displs; /* [ranks] */
    size_t bytes;         /* of a block */
    int count;            /* the same, as an int */
    int places;           /* HAND: messages of a window that the pinned memory has room for */
    int loops;            /* calls that are timed together */
};

/* Where block `block` that this rank receives comes from. */
struct transfer_source {
    int rank, block;
};

struct transfer_row {
    const char *name, *call;
    enum transfer_group group;
    enum transfer_figure figure;
    int (*in)(const struct transfer *);  /* blocks that this rank sends */
    int (*out)(const struct transfer *); /* blocks that it receives */
    struct transfer_source (*from)(const struct transfer *, int block);
    /* An MPI code. */
    int (*run)(const struct transfer *, int way, const struct transfer_buffers *);
    int (*start)(const struct transfer *, int way, const struct transfer_buffers *, MPI_Request *);
    /* The library's call in stream order (MPIX_..._enqueue), found at run time; NULL: no such call. */
    int (*enqueue)(const struct transfer *, const struct transfer_buffers *);
    /* NCCL's counterpart, put into the stream. Messages: waits for the stream itself, but in stream
     * order. */
    void (*nccl)(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
    int pair;    /* 1: ranks 0 and 1 alone */
    int ring;    /* 1: on a graph of neighbours */
    int copies;  /* 1: run() copies by hand what it sends and receives */
    int engines; /* 1: NCCL has copy engines for it */
};
extern const struct transfer_row transfer_rows[TRANSFERS];

/* MPIX_CALL_enqueue of the library; ends the program if the library lacks it. */
void *transfer_enqueue_symbol(const char *call);

void transfer_nccl_latency(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_window(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_bcast(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_gather(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_scatter(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_allgather(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_alltoall(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_alltoallv(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_ring(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);
void transfer_nccl_ring_of_one(const struct transfer *, enum bench_nccl_copy, const struct transfer_buffers *);

/* n bytes of what rank `rank` sends, from byte `first` on. */
void transfer_data(uint64_t seed, int rank, size_t first, size_t n, char *out);

/* Where the buffers of the ways lie, and what the device's hold. */
struct transfer_memory {
    size_t bytes[2], pinned[2]; /* room for sending, for receiving */
    char *device[2], *host[2], *ordinary[2], *symmetric[2];
    char *mixed[2]; /* the program's buffer in host memory; NULL: it is device[] */
    char *scratch;  /* of TRANSFER_CHECK_FULL bytes */
    int is_pinned;
    uint64_t held[TRANSFER_WAYS];
    size_t held_bytes[TRANSFER_WAYS];
};
/* Transfers up to here get new data in every checked call and are compared in full; larger ones in 64 places. */
enum { TRANSFER_CHECK_FULL = 4 << 20 };
struct transfer_buffers transfer_buffers_of(const struct transfer_memory *memory, int way);
/* Puts this rank's data of that seed where `way` reads it. spoil: no right result is left where it writes. Not timed.
 */
void transfer_fill(const struct transfer *t, struct transfer_memory *memory, int way, uint64_t seed, int spoil);
/* Collective. 1 if all data that all ranks have received are right; otherwise reports the error. */
int transfer_check(const struct transfer *t, const struct transfer_memory *memory, int way, uint64_t seed);

const char *transfer_way_name(int way);
void bench_transfer(struct bench_plan *plan, const struct transfer_plan *what);

#endif
