/* tutti bench shmem, on the ranks: one measurement, its data and its check. */
#ifndef TUTTI_BENCH_GAS_MEASURE_H
#define TUTTI_BENCH_GAS_MEASURE_H

#include "bench/common/bench.h"
#include "bench/common/columns.h"
#include "bench/shmem/gas.h"
#include "bench/shmem/side.h"
#include "bench/words/gas.h"

struct gas_memory {
    char *in, *out;
    double *part;
    void *work;
    size_t work_bytes;
};

/* The address spaces: this library's, NVSHMEM's. */
enum { GAS_SIDE_TUTTI, GAS_SIDE_NVSHMEM, GAS_SIDES };

struct gas_bench {
    struct bench_plan *plan;         /* ways that cannot be had are taken out */
    struct gas_cuts cuts;            /* of the rules */
    struct gas_side side[GAS_SIDES]; /* name NULL: not there */
    struct gas_memory memory[GAS_SIDES];
    int team[GAS_SIDES]; /* of the first so many PEs */
    int team_size;
    char *host, *expected; /* ordinary memory, as large as `in` */
    int right;
};

struct gas_row {
    enum gas_figure figure;
    const char *name; /* "put", "tree" */
    int operation, strategy;
    int target; /* of put, get, write, read: the PE; -1: a collective */
    int pes;    /* that take part, from PE 0 on */
    unsigned blocks, threads, stride;
    size_t bytes;
    unsigned ways; /* mask */
};

/* Collective over all ranks. Times, checks and says a row; 0 where a result was wrong, which was said. */
int gas_measure(struct gas_bench *bench, const struct gas_row *row);
/* Places that `in` needs for messages of so many bytes. */
size_t gas_in_bytes(int pes, size_t bytes);

#endif
