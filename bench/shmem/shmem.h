/* tutti bench shmem, on the ranks. */
#ifndef TUTTI_BENCH_SHMEM_RANKS_H
#define TUTTI_BENCH_SHMEM_RANKS_H

#include "bench/common/bench.h"

/* Collective over all ranks. figures: mask of enum gas_figure; usual: each of them has its own sizes. */
void bench_shmem(struct bench_plan *plan, unsigned figures, int usual);

#endif
