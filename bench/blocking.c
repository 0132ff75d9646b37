/* Latency of blocking calls, each way in turn: blocks of calls A B C A B C ..., so that what drifts on the machine
 * meets all of them alike. A call is timed by itself on every rank, after a barrier, as the OSU benchmarks do. The last
 * calls of each way get new input (up to BENCH_CHECK_FULL bytes), and their results are checked. */
#include <stdlib.h>

#include "core/clock.h"
#include "order.h"

enum { BLOCKS = 4 };

struct lane {
    long iterations, warm_up, checked;
    double *samples; /* one a call */
};

static void plan_lane(const struct bench_plan *plan, size_t bytes, struct lane *lane)
{
    int small = bytes <= 8192, large = bytes >= (size_t)32 << 20;
    lane->iterations = plan->iterations ? plan->iterations : small ? 1000 : large ? 20 : 100;
    lane->warm_up = plan->warm_up >= 0 ? plan->warm_up : small ? 100 : large ? 3 : 10;
    lane->checked = !plan->check ? 0 : bytes <= (size_t)4 << 20 ? 2 : 1;
}

static double call_once(const struct bench_plan *plan, struct bench_ways *ways, int way, long i)
{
    if (plan->root == BENCH_ALL_ROOTS)
        bench_way_calls(ways, way)->root = (int)((i < 0 ? -i : i) % plan->size);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    uint64_t start = tutti_now_ns();
    bench_way_call(plan, ways, way);
    return (double)(tutti_now_ns() - start) * 1e-3;
}

/* Where a limit of time is set: one call tells how many there may be. The same on all ranks. */
static void limit_lane(const struct bench_plan *plan, struct bench_ways *ways, int way, struct lane *lane)
{
    if (plan->seconds <= 0)
        return;
    bench_way_prepare(plan, ways, way, plan->seed);
    call_once(plan, ways, way, 0);
    double most = 0;
    /* A single call may have met something else: where it says that there is no time, two more are asked. */
    for (int try = 0; try < 3 && most < (double)lane->iterations; try++) {
        bench_way_restore(plan, ways, way);
        double fits = plan->seconds * 1e6 / bench_longest(call_once(plan, ways, way, 0));
        most = fits > most ? fits : most;
        if (fits < BLOCKS)
            break;
    }
    long least = lane->checked > BLOCKS ? lane->checked : BLOCKS;
    if ((double)lane->iterations > most)
        lane->iterations = most < (double)least ? least : (long)most;
    if ((double)lane->warm_up > most / 10)
        lane->warm_up = (long)(most / 10);
}

/* Calls from..to of one way; 1 where all checked results were right. */
static int run_block(const struct bench_plan *plan, struct bench_ways *ways, int way, struct lane *lane, int block,
                     int exact)
{
    long from = lane->iterations * block / BLOCKS, to = lane->iterations * (block + 1) / BLOCKS;
    long warm_up = block == 0 || lane->warm_up < 2 ? lane->warm_up : 2;
    if (to == from)
        return 1;
    bench_way_prepare(plan, ways, way, plan->seed);
    for (long i = from - warm_up; i < to; i++) {
        int checked = i >= lane->iterations - lane->checked;
        uint64_t seed = plan->seed;
        if (checked) {
            if (ways->bytes <= BENCH_CHECK_FULL)
                seed += ways->bytes * 31 + (uint64_t)i * 7 + (uint64_t)way;
            bench_way_prepare(plan, ways, way, seed);
            bench_way_spoil(plan, ways, way);
        } else {
            bench_way_restore(plan, ways, way);
        }
        double took = call_once(plan, ways, way, i);
        if (i >= from)
            lane->samples[i] = took;
        if (checked && !bench_way_check(plan, ways, way, seed, exact))
            return 0;
    }
    return 1;
}

/* Average: over ranks and calls. Least and most: of the ranks' averages. Median: over calls, of the average over ranks.
 */
static void say_times(const struct bench_plan *plan, int way, const struct lane *lane)
{
    long n = lane->iterations;
    double mine = 0, least, most, average = 0, *sums = calloc((size_t)n, sizeof *sums);
    if (!sums)
        bench_fail("out of memory");
    for (long i = 0; i < n; i++)
        mine += lane->samples[i] / (double)n;
    bench_mpi.Allreduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    bench_mpi.Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    bench_mpi.Allreduce(lane->samples, sums, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (long i = 0; i < n; i++) {
        sums[i] /= plan->size;
        average += sums[i] / (double)n;
    }
    bench_say(plan, "time %s %.4f %.4f %.4f %.4f %ld", bench_way_name(way), average, bench_median(sums, n), least, most,
              n);
    free(sums);
}

int bench_run_blocking(const struct bench_plan *plan, struct bench_ways *ways)
{
    char algorithm[96];
    int accelerated, right = 1;
    struct lane lane[BENCH_WAYS] = {{0}};
    bench_find_algorithm(plan, ways, algorithm, sizeof algorithm, &accelerated);
    for (int way = 0; way < BENCH_WAYS; way++) {
        if (!ways->used[way])
            continue;
        plan_lane(plan, ways->bytes, &lane[way]);
        limit_lane(plan, ways, way, &lane[way]);
        if (lane[way].checked > lane[way].iterations)
            lane[way].checked = lane[way].iterations;
        lane[way].samples = calloc((size_t)lane[way].iterations, sizeof *lane[way].samples);
        if (!lane[way].samples)
            bench_fail("out of memory");
    }
    for (int block = 0; block < BLOCKS && right; block++) {
        for (int way = 0; way < BENCH_WAYS && right; way++) {
            if (!ways->used[way])
                continue;
            int own = way == BENCH_TUTTI || way == BENCH_REFERENCE;
            bench_say(plan, "progress %zu %s %d %d", ways->bytes, bench_way_name(way), block, BLOCKS);
            right = run_block(plan, ways, way, &lane[way], block, own && accelerated);
        }
    }
    if (right) {
        bench_say(plan, "row %zu %zu %ld %s", bench_call_bytes(&ways->call), ways->call.count,
                  lane[BENCH_TUTTI].iterations, algorithm);
        for (int way = 0; way < BENCH_WAYS; way++) {
            if (ways->used[way])
                say_times(plan, way, &lane[way]);
        }
        bench_say(plan, "done");
    }
    for (int way = 0; way < BENCH_WAYS; way++)
        free(lane[way].samples);
    return right;
}
