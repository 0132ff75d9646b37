/* Joules of calls: every way makes its calls over windows of some seconds, in turns (A B C A B C ...), and energy
 * counters are read at both ends of a window. The first rank of each node reads the processor packages, the DRAM and
 * the GPUs that ranks of its node use; rank 0 reports sums over nodes. */
#ifndef TUTTI_BENCH_COMMON_ENERGY_H
#define TUTTI_BENCH_COMMON_ENERGY_H

#include "bench/common/bench.h"
#include "bench/words/energy.h"

/* How the calls of ways are made; ways are of enum energy_way. */
struct bench_energy_calls {
    const struct bench_plan *plan;
    size_t bytes;
    void *with;
    int used[ENERGY_WAYS];
    /* Before the calls of a way. new_data: a call whose result will be checked follows. */
    void (*prepare)(void *with, int way, int new_data);
    /* Makes so many calls and returns when all are complete. us: about what one takes; 0: not known. */
    void (*make)(void *with, int way, long calls, double us);
    /* Collective. 1 if the result of the last call is right, otherwise 0 after a report. */
    int (*check)(void *with, int way);
};

/* Collective; both do nothing for a plan that measures times. Open, before any GPU is used: starts the meters, and
 * measures the machine as it is before a context is made. */
void bench_energy_open(const struct bench_plan *plan);
void bench_energy_close(const struct bench_plan *plan);
/* Collective. Measures one size and reports its row; 1 if all checked results were right. */
int bench_energy_run(const struct bench_energy_calls *calls);

/* Puts calls into the stream of gpu.h in batches; the host sleeps for most of what a batch takes. */
void bench_energy_stream(void *with, int way, long calls, double us, void (*enqueue)(void *with, int way, int i));

#endif
