#ifndef TUTTI_BENCH_GAS_HOST_H
#define TUTTI_BENCH_GAS_HOST_H

#include "bench/shmem/gas.h"

/* As `run` of a side, on the host device. */
double gas_host_run(const struct gas_call *call, unsigned grid, unsigned group, double seconds);

#endif
