/* The reductions that are measured: how each is called, and what a rank gets. */
#ifndef TUTTI_BENCH_CALLS_H
#define TUTTI_BENCH_CALLS_H

#include "bench/common/bench.h"

struct bench_call {
    int collective, type, op; /* enum tutti_collective, enum tutti_type, enum tutti_op */
    MPI_Datatype mpi_type;
    MPI_Op mpi_op;
    size_t count; /* elements of one rank's contribution; of the reduce-scatters as many for each rank */
    int in_place, root;
    int rank, ranks;
    int *counts; /* REDUCE_SCATTER: segment of each rank; owned */
};

/* The call of the plan's collective for contributions of about `bytes`; root 0 if roots change. *out is all zero, or
 * was made here before. */
void bench_call_make(const struct bench_plan *plan, int type, int op, size_t bytes, struct bench_call *out);

/* What this rank gets: elements begin ... begin + count of the vector, combined over ranks 0 ... depth - 1. */
struct bench_part {
    size_t begin, count;
    int depth;
};
struct bench_part bench_part_of(const struct bench_call *call);
/* 1 if the input lies in the output's memory on this rank. */
int bench_in_place_here(const struct bench_call *call);
/* Bytes of one rank's contribution. */
size_t bench_call_bytes(const struct bench_call *call);
/* "MPI_Reduce" */
const char *bench_call_name(const struct bench_call *call);

/* The blocking call, through the library in front or (plain) of the MPI itself. Fails where that reports an error. */
void bench_call_mpi(const struct bench_call *call, const void *in, void *out, int plain);

#endif
