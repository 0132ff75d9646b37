/* Where a rank works: its GPU, and what the MPI does with device memory. */
#ifndef TUTTI_BENCH_PLACE_H
#define TUTTI_BENCH_PLACE_H

#include "bench/common/bench.h"

/* Collective. Gives this rank its GPU and says which; how many different ones the ranks have. */
int bench_choose_gpu(const struct bench_plan *plan);
/* Whether the MPI itself takes device pointers: its own word, Intel MPI's setting, or the user's. */
int bench_mpi_takes_device(void);

#endif
