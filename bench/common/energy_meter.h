/* The meters of a run, and a window of theirs. */
#ifndef TUTTI_BENCH_COMMON_ENERGY_METER_H
#define TUTTI_BENCH_COMMON_ENERGY_METER_H

#include "bench/common/bench.h"
#include "bench/words/energy.h"

/* Of all nodes. joules: NAN where a source of the kind is unavailable on one of the nodes; ENERGY_CPU: seconds. */
struct bench_energy_window {
    double seconds, part[ENERGY_PARTS];
    double updates; /* the least of the GPUs' counters of rank 0's node; without GPUs of the packages' */
};

/* Collective over all ranks. */
void bench_energy_meters_open(const struct bench_plan *plan);
void bench_energy_meters_close(const struct bench_plan *plan);
void bench_energy_begin(void);
/* 1 on all ranks where the window has lasted `seconds` and has `updates`, or lasts four times as long. */
int bench_energy_enough(double seconds, long updates);
void bench_energy_end(const struct bench_plan *plan, struct bench_energy_window *out);
/* Records of the sources of rank 0's node. */
void bench_energy_say_sources(const struct bench_plan *plan);

#endif
