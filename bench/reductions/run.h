/* What `tutti bench` measures of reductions. */
#ifndef TUTTI_BENCH_RUN_H
#define TUTTI_BENCH_RUN_H

#include "bench/common/bench.h"

void bench_collective(struct bench_plan *plan);
void bench_overhead(struct bench_plan *plan);

#endif
