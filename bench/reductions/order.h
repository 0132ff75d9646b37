/* The two ways of timing: blocking calls one by one, and calls in stream order. Collective; 1 where all checked results
 * were right. They report the row of the current size (struct bench_ways) themselves. */
#ifndef TUTTI_BENCH_ORDER_H
#define TUTTI_BENCH_ORDER_H

#include "bench/common/columns.h"
#include "bench/reductions/ways.h"

int bench_run_blocking(const struct bench_plan *plan, struct bench_ways *ways);
int bench_run_ordered(const struct bench_plan *plan, struct bench_ways *ways);
/* Blocking calls by phases (see core/phases.def). */
int bench_run_phases(const struct bench_plan *plan, struct bench_ways *ways);

/* Joules of the calls in place of times. */
int bench_run_energy(const struct bench_plan *plan, struct bench_ways *ways);

/* Microseconds of one call of the library in stream order, back to back and, if the device has graphs, in a graph; the
 * slowest rank's. Negative where the call cannot be put into a stream. */
double bench_ordered_time(const struct bench_plan *plan, struct bench_ways *ways);

/* One call, blocking or not, with counting on shows which algorithm the size takes: "oneshot", "mpi: reason", "-".
 * *accelerated: 1 where the library did it. */
void bench_find_algorithm(const struct bench_plan *plan, struct bench_ways *ways, char *name, size_t size,
                          int *accelerated);
/* The record of a row, and of its type and operator if pairs are measured. */
void bench_say_row(const struct bench_plan *plan, const struct bench_ways *ways, long iterations,
                   const char *algorithm);

#endif
