/* tutti bench partitioned, on the ranks: kernels make data that is sent or reduced, in one way after the other. */
#ifndef TUTTI_BENCH_PART_H
#define TUTTI_BENCH_PART_H

#include "bench/common/bench.h"
#include "bench/partitioned/kernel.h"
#include "bench/words/part.h"

struct part_plan {
    unsigned figures; /* mask */
    int counts[PART_COUNTS], n_counts;
};

/* Calls that a header of the MPI may lack (Open MPI 4.1). They are the library's. */
struct part_calls {
    int (*psend_init)(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
    int (*precv_init)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
    int (*pready_range)(int, int, MPI_Request);
};

/* The grid of a row, and what a group of it has. */
struct part_grid {
    int blocks;     /* a multiple of the transport partitions */
    uint64_t words; /* of a block */
};

/* The requests of a way of the row. */
struct part_request {
    int group; /* enum part_group */
    int parts; /* partitions of a block of the kernel */
    MPI_Request request;
    MPIX_Prequest device;
    int has_device; /* 1: `device` is there */
};

struct part_row;
struct part_bench {
    const struct bench_plan *plan;
    const struct part_plan *what;
    const struct part_kernels *kernels;
    struct part_calls calls;
    unsigned ways; /* mask: those that are wanted and possible */
    int rank;
    int sums_from_kernels; /* 1: collectives have device requests */
    uint32_t *out, *in;    /* device memory: what the kernel makes, what arrives */
    uint32_t *host;        /* ordinary memory, as large */
    /* Of the row: */
    enum part_figure figure;
    const struct part_row *row;
    size_t bytes;
    int partitions; /* transport partitions */
    struct part_grid grid;
    struct part_request request[PART_WAYS];
    double prepared; /* microseconds from the begin of the call in progress until its request was prepared */
    uint64_t begun;
    double *later[PART_WAYS]; /* of each call: what followed when the request was prepared */
};

/* How a figure communicates what a kernel has made. */
struct part_row {
    const char *call;
    int real; /* 1: data are float */
    /* Local. Creates what the way needs; 0: the way is impossible. */
    int (*open)(struct part_bench *, int way);
    /* The call from its begin to the end of communication; the kernel is launched by it. */
    void (*run)(struct part_bench *, int way, uint64_t seed);
    /* Local. 1 if the result is right here. */
    int (*check)(struct part_bench *, uint64_t seed);
};
extern const struct part_row part_messages, part_sums;
extern const struct part_kernels part_host_kernels;

const char *part_way_name(int way);
/* Fails where an MPI call of the way has failed. */
void part_must(const struct part_bench *b, int way, int error, const char *call);
/* The rules under which a way's requests are created and started; NULL: those in force. 0: they are not known. */
const char *part_rules(int way);
int part_take_rules(int way);
/* Launches the kernel of the row. request NULL: it marks nothing. */
void part_launch_kernel(struct part_bench *b, const struct part_request *request, uint64_t seed);
/* Starts and prepares the way's request. */
void part_begin(struct part_bench *b, int way);
void part_wait(struct part_bench *b, int way);
/* The group and the partitions of a block of the way. */
void part_shape(const struct part_bench *b, int way, struct part_request *out);
/* The info key with the number of transport partitions; freed by the caller. */
MPI_Info part_info(const struct part_bench *b);
/* The seed of a rank's data. */
uint64_t part_seed_of(uint64_t seed, int rank);

/* Collective. Whether MPIX_Prequest_create takes collectives. */
int part_sums_from_kernels(struct part_bench *b);
/* Collective. Figures; 0 after a wrong result, which was reported. */
int part_measure(struct part_bench *b);
int part_sync(struct part_bench *b);
int part_overhead(struct part_bench *b);
void bench_partitioned(struct bench_plan *plan, const struct part_plan *what);

#endif
