/* Blocking calls of the library by phases. The library's own marks say what the calling thread was doing; what they do
 * not cover is the entry: the way of the call to the marks and back. A second measurement, of the same call in stream
 * order, separates the kernel from the notice: the host sees of both together alone how long they took. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/columns.h"
#include "bench/reductions/order.h"
#include "core/clock.h"
#include "core/phases.h"

/* One call: its phases and the whole. */
enum { WHOLE = TUTTI_PHASES, NUMBERS };

static void one_call(const struct bench_plan *plan, struct bench_ways *ways, double out[NUMBERS])
{
    uint64_t ns[TUTTI_PHASES];
    bench_mpi.Barrier(MPI_COMM_WORLD);
    tutti_phases_take(ns);
    uint64_t start = tutti_now_ns();
    bench_way_call(plan, ways, BENCH_TUTTI);
    out[WHOLE] = (double)(tutti_now_ns() - start) * 1e-3;
    tutti_phases_take(ns);
    for (int p = 0; p < TUTTI_PHASES; p++)
        out[p] = (double)ns[p] * 1e-3;
}

static int by_whole(const void *a, const void *b)
{
    double x = ((const double *)a)[WHOLE], y = ((const double *)b)[WHOLE];
    return (x > y) - (x < y);
}

int bench_run_phases(const struct bench_plan *plan, struct bench_ways *ways)
{
    int small = ways->bytes <= 8192, large = ways->bytes >= (size_t)32 << 20, accelerated;
    long n = plan->iterations ? plan->iterations : small ? 1000 : large ? 20 : 200;
    long warm_up = plan->warm_up >= 0 ? plan->warm_up : small ? 100 : large ? 3 : 10;
    char algorithm[96], what[32];
    bench_find_algorithm(plan, ways, algorithm, sizeof algorithm, &accelerated);
    double(*samples)[NUMBERS] = calloc((size_t)n, sizeof *samples), (*sums)[NUMBERS] = calloc((size_t)n, sizeof *sums);
    if (!samples || !sums)
        bench_fail("out of memory");
    bench_way_prepare(plan, ways, BENCH_TUTTI, plan->seed);
    snprintf(what, sizeof what, "%zu bytes", ways->bytes);
    bench_say_progress(plan, "tutti", what, 0, 1);
    tutti_phases_switch(1);
    for (long i = -warm_up; i < n; i++) {
        bench_way_restore(plan, ways, BENCH_TUTTI);
        if (i == n - 1)
            bench_way_spoil(plan, ways, BENCH_TUTTI);
        one_call(plan, ways, samples[i < 0 ? 0 : i]);
    }
    tutti_phases_switch(0);
    int right = !plan->check || bench_way_check(plan, ways, BENCH_TUTTI, plan->seed, accelerated);
    bench_mpi.Allreduce(samples, sums, (int)n * NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double ordered = ways->ordered ? bench_ordered_time(plan, ways) : -1;
    if (right) {
        /* Of the calls in order of their length the tenth at either end is left out; the rest is averaged, so that the
         * phases add up to the whole. */
        double mean[NUMBERS] = {0};
        long from = n / 10, to = n - n / 10;
        qsort(sums, (size_t)n, sizeof *sums, by_whole);
        for (long i = from; i < to; i++) {
            for (int p = 0; p < NUMBERS; p++)
                mean[p] += sums[i][p] / ((double)plan->size * (double)(to - from));
        }
        bench_say_row(plan, ways, n, algorithm);
        bench_say(plan, "whole %.4f %.4f", mean[WHOLE], ordered);
        for (int p = 0; p < TUTTI_PHASES; p++)
            bench_say(plan, "phase %d %.4f", p, mean[p]);
        bench_say(plan, "done");
    }
    free(samples);
    free(sums);
    return right;
}
