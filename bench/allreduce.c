/* Latency of MPI_Allreduce, by size, each way in turn: blocks of calls A B C A B C ..., so that what drifts on the
 * machine meets all of them alike. A call is timed by itself on every rank, after a barrier, as the OSU benchmarks do.
 * The last calls of each way get new input, and their results are checked in full. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/clock.h"
#include "core/counters.h"
#include "core/types.h"
#include "data.h"
#include "ways.h"

enum { BLOCKS = 4 };

struct size_plan {
    size_t bytes, count;
    long iterations, warm_up, checked;
};

static struct size_plan plan_size(const struct bench_plan *plan, size_t bytes)
{
    struct size_plan s = {.bytes = bytes, .count = bytes / tutti_type_size(plan->type)};
    int small = bytes <= 8192, large = bytes >= (size_t)32 << 20;
    s.iterations = plan->iterations ? plan->iterations : small ? 1000 : large ? 20 : 100;
    s.warm_up = plan->warm_up >= 0 ? plan->warm_up : small ? 100 : large ? 3 : 10;
    s.checked = !plan->check ? 0 : bytes <= (size_t)4 << 20 ? 2 : 1;
    if (s.checked > s.iterations)
        s.checked = s.iterations;
    return s;
}

/* What became of the calls counted since `before`: "oneshot", or "mpi" with the reason in `how`. */
static void outcome(const struct tutti_counter *before, int n, char *name, size_t size, int *accelerated)
{
    static struct tutti_counter now[64];
    int rows = tutti_counters_read(now, 64);
    *accelerated = 0;
    snprintf(name, size, "-");
    for (int i = 0; i < rows && i < 64; i++) {
        uint64_t seen = 0;
        for (int b = 0; b < n; b++) {
            if (strcmp(before[b].text, now[i].text) == 0)
                seen = before[b].count;
        }
        if (now[i].count == seen || strncmp(now[i].text, "MPI_Allreduce|", 14) != 0)
            continue;
        const char *how = now[i].text + 14, *bar = strchr(how, '|');
        *accelerated = strncmp(how, "accelerated|", 12) == 0;
        if (*accelerated)
            snprintf(name, size, "%s", bar + 1);
        else
            snprintf(name, size, "mpi: %s", bar ? bar + 1 : how);
        return;
    }
}

/* One call with counting on tells which algorithm the size takes; the timed calls do not count. */
static void find_algorithm(const struct bench_plan *plan, const struct bench_ways *ways, const struct size_plan *s,
                           char *name, size_t size, int *accelerated)
{
    static struct tutti_counter before[64];
    int was = tutti_counting;
    bench_way_prepare(plan, ways, BENCH_TUTTI, plan->seed, s->count);
    tutti_counting = 1;
    int n = tutti_counters_read(before, 64);
    bench_way_call(plan, ways, BENCH_TUTTI, s->count);
    outcome(before, n < 64 ? n : 64, name, size, accelerated);
    tutti_counting = was;
}

/* 1 where the result is right on all ranks; otherwise the lowest rank with a wrong one is reported. */
static int check(const struct bench_plan *plan, const struct bench_ways *ways, const struct size_plan *s, int way,
                 uint64_t seed, int exact)
{
    struct bench_wrong wrong;
    const void *result = bench_way_result(plan, ways, way, s->count);
    int right = bench_check(plan->type, plan->op, seed, plan->size, exact, result, s->count, &wrong);
    int mine = right ? plan->size : plan->rank, first;
    bench_mpi.Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == plan->size)
        return 1;
    char text[320] = "";
    if (plan->rank == first)
        snprintf(text, sizeof text, "%s, %zu bytes, rank %d: element %zu of %zu is %s, right is %s",
                 bench_way_name(way), s->bytes, plan->rank, wrong.element, s->count, wrong.got, wrong.right);
    bench_mpi.Bcast(text, (int)sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
    bench_say(plan, "wrong %s", text);
    return 0;
}

/* Calls from..to of one way into samples[]; 1 where all checked results were right. */
static int run_block(const struct bench_plan *plan, const struct bench_ways *ways, const struct size_plan *s, int way,
                     long from, long to, int exact, double *samples)
{
    bench_way_prepare(plan, ways, way, plan->seed, s->count);
    long warm_up = from == 0 ? s->warm_up : s->warm_up < 2 ? s->warm_up : 2;
    for (long i = from - warm_up; i < to; i++) {
        int checked = i >= s->iterations - s->checked;
        uint64_t seed = plan->seed + s->bytes * 31 + (uint64_t)i * 7 + (uint64_t)way;
        if (checked)
            bench_way_prepare(plan, ways, way, seed, s->count);
        else if (plan->in_place)
            bench_way_restore(plan, ways, way, s->count);
        bench_mpi.Barrier(MPI_COMM_WORLD);
        uint64_t start = tutti_now_ns();
        bench_way_call(plan, ways, way, s->count);
        uint64_t end = tutti_now_ns();
        if (i >= from)
            samples[i] = (double)(end - start) * 1e-3;
        if (checked && !check(plan, ways, s, way, seed, exact))
            return 0;
    }
    return 1;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Average: over ranks and calls. Least and most: of the ranks' averages. Median: over calls, of the average over ranks.
 */
static void say_times(const struct bench_plan *plan, int way, long n, double *samples, double *sums)
{
    double mine = 0, least, most, average = 0;
    for (long i = 0; i < n; i++)
        mine += samples[i] / (double)n;
    bench_mpi.Allreduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    bench_mpi.Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    bench_mpi.Allreduce(samples, sums, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (long i = 0; i < n; i++) {
        sums[i] /= plan->size;
        average += sums[i] / (double)n;
    }
    qsort(sums, (size_t)n, sizeof *sums, ascending);
    double median = n % 2 ? sums[n / 2] : (sums[n / 2 - 1] + sums[n / 2]) / 2;
    bench_say(plan, "time %s %.4f %.4f %.4f %.4f", bench_way_name(way), average, median, least, most);
}

/* 1 where all results were right. */
static int run_size(const struct bench_plan *plan, const struct bench_ways *ways, size_t bytes)
{
    struct size_plan s = plan_size(plan, bytes);
    char algorithm[96];
    int accelerated, right = 1;
    double *samples[BENCH_WAYS] = {NULL}, *sums = calloc((size_t)s.iterations, sizeof *sums);
    find_algorithm(plan, ways, &s, algorithm, sizeof algorithm, &accelerated);
    for (int way = 0; way < BENCH_WAYS; way++) {
        samples[way] = calloc((size_t)s.iterations, sizeof *samples[way]);
        if (!samples[way] || !sums)
            bench_fail("out of memory");
    }
    for (int block = 0; block < BLOCKS && right; block++) {
        long from = s.iterations * block / BLOCKS, to = s.iterations * (block + 1) / BLOCKS;
        for (int way = 0; way < BENCH_WAYS && right && to > from; way++) {
            if (!ways->used[way])
                continue;
            bench_say(plan, "progress %zu %s %d %d", bytes, bench_way_name(way), block, BLOCKS);
            right = run_block(plan, ways, &s, way, from, to, way == BENCH_TUTTI && accelerated, samples[way]);
        }
    }
    if (right) {
        bench_say(plan, "row %zu %zu %ld %s", s.bytes, s.count, s.iterations, algorithm);
        for (int way = 0; way < BENCH_WAYS; way++) {
            if (ways->used[way])
                say_times(plan, way, s.iterations, samples[way], sums);
        }
        bench_say(plan, "done");
    }
    for (int way = 0; way < BENCH_WAYS; way++)
        free(samples[way]);
    free(sums);
    return right;
}

void bench_allreduce(struct bench_plan *plan)
{
    static struct bench_ways ways;
    bench_say(plan, "nodes %d", plan->nodes);
    bench_ways_open(plan, &ways);
    bench_say(plan, "start");
    int right = 1;
    for (size_t bytes = plan->least; right && bytes <= plan->most; bytes *= 2)
        right = run_size(plan, &ways, bytes);
    bench_ways_close(&ways);
    bench_say(plan, "end %d", right);
}
