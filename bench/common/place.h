/* The GPU of a rank, and the MPI's handling of device memory. */
#ifndef TUTTI_BENCH_PLACE_H
#define TUTTI_BENCH_PLACE_H

#include "bench/common/bench.h"

/* Collective. Gives this rank its GPU and reports it; returns the number of different GPUs. */
int bench_choose_gpu(const struct bench_plan *plan);
/* Whether the MPI itself takes device pointers: by its own query, Intel MPI's setting, or the user's. */
int bench_mpi_takes_device(void);

#endif
