/* tutti bench overhead: exit status. */
#ifndef TUTTI_TOOLS_BENCH_OVERHEAD_H
#define TUTTI_TOOLS_BENCH_OVERHEAD_H

#include "tools/bench/bench.h"

int bench_overhead(int argc, char **argv);

#endif
