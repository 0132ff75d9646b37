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
    struct bench_plan *plan;         /* impossible ways are removed */
    struct gas_cuts cuts;            /* of the rules */
    struct gas_side side[GAS_SIDES]; /* name NULL: not there */
    struct gas_memory memory[GAS_SIDES];
    const size_t *sizes; /* of the figure that is measured */
    int n_sizes;
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

/* Collective over all ranks. Times, checks and reports a row; 0 after a wrong result, which is reported. */
int gas_measure(struct gas_bench *bench, const struct gas_row *row);
/* Collective over the PEs of the row: the calls of ENGINE and MPI, which the host makes. Nanoseconds of one, over
 * `rounds`; negative where a kernel failed. */
double gas_by_host(struct gas_bench *bench, const struct gas_row *row, int way, unsigned rounds, struct gas_call *call);
/* Collective over all ranks: joules of the row in place of its time. 1 if all checked results were right. energy.c */
int gas_energy(struct gas_bench *bench, const struct gas_row *row);
#define GAS_WAY_BIT(id) (1u << GAS_##id)

/* The rows of some figures, latency.c. alone: PEs share GPUs, so a kernel cannot wait for another PE's. */
void gas_latency(struct gas_bench *bench, int alone);
void gas_bandwidth(struct gas_bench *bench);
void gas_ring_figure(struct gas_bench *bench);
/* In the order of a stream, order.c. Collective over all ranks: reports which of the two figures is impossible. */
unsigned gas_ordered_missing(const struct gas_bench *bench, unsigned figures);
/* Figure GRAPH or STREAM. */
void gas_ordered(struct gas_bench *bench, enum gas_figure figure);
/* Of this library's side. */
int gas_enqueue_tutti(const struct gas_call *c, void *stream);
/* Collective: the team of the first so many PEs on all sides. */
void gas_take_team(struct gas_bench *bench, int pes);
/* The row for all sizes that are a multiple of `unit` for each block. */
void gas_sizes(struct gas_bench *bench, struct gas_row row, size_t unit);

/* Bytes that `in`, and `out`, need for messages of so many bytes. */
size_t gas_in_bytes(int pes, size_t bytes);
/* Collective over all ranks: new data of the row on a side, `in` emptied. 0, or another number where it failed. */
int gas_fill(struct gas_bench *bench, const struct gas_row *row, int which, uint64_t seed);
/* Collective over all ranks. 1 if `in` is right here, after so many rounds. */
int gas_check(struct gas_bench *bench, const struct gas_row *row, int which, uint64_t seed, unsigned rounds);
/* What words are put and added. */
uint64_t gas_value(uint64_t seed);
/* Alike on all ranks, another one for every launch. */
uint64_t gas_seed_next(const struct bench_plan *plan);
struct gas_call gas_call_of(const struct gas_bench *bench, const struct gas_row *row, int which, uint64_t seed);
int gas_side_of(int way);
const char *gas_way_name(int way);
void gas_say_row(const struct gas_bench *bench, const struct gas_row *row);
/* Reports a wrong result; 0. */
int gas_say_wrong(struct gas_bench *bench, const struct gas_row *row, int way);

#endif
