/* Latency of blocking calls, each way in turn (columns.h). A call is timed by itself on every rank, after a barrier, as
 * the OSU benchmarks do. The last calls of each way get new input (up to BENCH_CHECK_FULL bytes), and their results are
 * checked. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/columns.h"
#include "bench/reductions/order.h"
#include "core/clock.h"

struct timing {
    const struct bench_plan *plan;
    struct bench_ways *ways;
    int accelerated;
};

static uint64_t seed_of(const struct timing *timing, int way, long i)
{
    const size_t bytes = timing->ways->bytes;
    return timing->plan->seed + (bytes <= BENCH_CHECK_FULL ? bytes * 31 + (uint64_t)i * 7 + (uint64_t)way : 0);
}

static void blocking_prepare(void *with, int way, long i, int new_data)
{
    const struct timing *timing = with;
    bench_way_prepare(timing->plan, timing->ways, way, new_data ? seed_of(timing, way, i) : timing->plan->seed);
    if (new_data)
        bench_way_spoil(timing->plan, timing->ways, way);
}

static double call_once(void *with, int way, long i)
{
    const struct timing *timing = with;
    if (timing->plan->root == BENCH_ALL_ROOTS)
        bench_way_calls(timing->ways, way)->root = (int)((i < 0 ? -i : i) % timing->plan->size);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    uint64_t start = tutti_now_ns();
    bench_way_call(timing->plan, timing->ways, way);
    return (double)(tutti_now_ns() - start) * 1e-3;
}

static int blocking_check(void *with, int way, long i)
{
    const struct timing *timing = with;
    const int own = way == BENCH_TUTTI || way == BENCH_REFERENCE;
    return bench_way_check(timing->plan, timing->ways, way, seed_of(timing, way, i), own && timing->accelerated);
}

int bench_run_blocking(const struct bench_plan *plan, struct bench_ways *ways)
{
    char algorithm[96], what[32];
    struct timing timing = {.plan = plan, .ways = ways};
    struct bench_column columns[BENCH_WAYS] = {{0}};
    const struct bench_timed timed = {.what = what,
                                      .bytes = ways->bytes,
                                      .with = &timing,
                                      .prepare = blocking_prepare,
                                      .call = call_once,
                                      .check = blocking_check};
    snprintf(what, sizeof what, "%zu bytes", ways->bytes);
    bench_find_algorithm(plan, ways, algorithm, sizeof algorithm, &timing.accelerated);
    for (int way = 0; way < BENCH_WAYS; way++) {
        if (!ways->used[way])
            continue;
        columns[way].name = bench_way_name(way);
        bench_column_plan(plan, &timed, &columns[way], way, ways->bytes <= (size_t)4 << 20 ? 2 : 1);
    }
    const int right = bench_columns_run(plan, &timed, columns, BENCH_WAYS);
    if (right) {
        bench_say_row(plan, ways, columns[BENCH_TUTTI].iterations, algorithm);
        for (int way = 0; way < BENCH_WAYS; way++) {
            if (columns[way].name)
                bench_say_average(plan, &columns[way], 0);
        }
        bench_say(plan, "done");
    }
    bench_columns_free(columns, BENCH_WAYS);
    return right;
}
