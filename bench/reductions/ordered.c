/* Calls in stream order: enqueued back to back, or captured in a graph that is replayed. Rounds go A B C A B C ...; in
 * a round every rank puts the same calls into its stream, and the time between two marks in the stream is divided by
 * their number. Some more calls before the first mark bring the ranks together. The last round's results are checked.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/batch.h"
#include "bench/common/columns.h"
#include "bench/common/gpu.h"
#include "bench/reductions/enqueue.h"
#include "bench/reductions/nccl.h"
#include "bench/reductions/order.h"

enum { ROUNDS = BENCH_BATCH_ROUNDS, CHECKED = 2 };

struct column {
    int calls, replays, rounds; /* calls of one replay, replays of a round */
    struct bench_graph *graph;  /* NULL: enqueued call by call */
    struct bench_graph *single; /* in place: a graph of one call, for the check */
    double time[ROUNDS];        /* of one call in each round: the slowest rank's */
};

static void enqueue(const struct bench_plan *plan, struct bench_ways *ways, int way, int i)
{
    struct bench_call *call = bench_way_calls(ways, way);
    const struct bench_set *set = bench_way_set(ways, way);
    if (plan->root == BENCH_ALL_ROOTS)
        call->root = i % plan->size;
    if (way >= BENCH_NCCL && way <= BENCH_NCCL_SYM32)
        bench_nccl_enqueue(call, set->in, set->out, bench_gpu_stream(),
                           way == BENCH_NCCL_SYM32 ? BENCH_NCCL_32_CTAS : BENCH_NCCL_USUAL);
    else
        bench_enqueue(call, set->in, set->out);
}

static struct bench_graph *capture(const struct bench_plan *plan, struct bench_ways *ways, int way, int calls)
{
    bench_graph_begin();
    for (int i = 0; i < calls; i++)
        enqueue(plan, ways, way, i);
    return bench_graph_end();
}

static void replay(const struct bench_plan *plan, struct bench_ways *ways, int way, const struct column *column)
{
    if (column->graph) {
        bench_graph_launch(column->graph);
        return;
    }
    for (int i = 0; i < column->calls; i++)
        enqueue(plan, ways, way, i);
}

static int in_graph(const struct bench_plan *plan, int way)
{
    return plan->order == BENCH_GRAPH && way != BENCH_NCCL;
}

/* One round; microseconds of one call, the slowest rank's. */
static double run_round(const struct bench_plan *plan, struct bench_ways *ways, int way, const struct column *column)
{
    bench_mpi.Barrier(MPI_COMM_WORLD);
    replay(plan, ways, way, column);
    bench_gpu_start();
    for (int i = 0; i < column->replays; i++)
        replay(plan, ways, way, column);
    double took = bench_gpu_stop();
    return bench_longest(took / ((double)column->calls * column->replays));
}

static void open_column(const struct bench_plan *plan, struct bench_ways *ways, int way, struct column *column)
{
    const size_t m = (size_t)1 << 20, bytes = ways->bytes;
    const struct bench_batch batch = bench_batch_of(bytes);
    column->calls = batch.calls;
    column->replays = batch.replays;
    column->rounds = batch.rounds;
    if (plan->iterations) { /* of all rounds together */
        long each = (plan->iterations + ROUNDS - 1) / ROUNDS;
        column->calls = each < column->calls ? (int)each : column->calls;
        column->replays = (int)((each + column->calls - 1) / column->calls);
    }
    bench_way_prepare(plan, ways, way, plan->seed);
    long warm_up = plan->warm_up >= 0 ? plan->warm_up : bytes <= 8 * m ? 10 : 2;
    for (long i = 0; i < warm_up; i++)
        enqueue(plan, ways, way, (int)i);
    bench_gpu_sync();
    if (in_graph(plan, way)) {
        column->graph = capture(plan, ways, way, column->calls);
        if (plan->in_place)
            column->single = capture(plan, ways, way, 1);
        bench_graph_launch(column->graph); /* the first launch brings the graph to the device */
        bench_gpu_sync();
    }
    if (plan->seconds > 0) {
        double replay_us = run_round(plan, ways, way, column) * column->calls, most = plan->seconds * 1e6 / replay_us;
        while (column->replays > 1 && (double)column->rounds * (column->replays + 1) > most)
            column->replays--;
        while (column->rounds > 3 && (double)column->rounds * (column->replays + 1) > most)
            column->rounds--;
    }
}

static void close_column(struct column *column)
{
    bench_graph_free(column->graph);
    bench_graph_free(column->single);
    column->graph = column->single = NULL;
}

/* A timed round; where it is among the last, its result is checked. */
static int round_of(const struct bench_plan *plan, struct bench_ways *ways, int way, struct column *column, int round,
                    int exact)
{
    int checked =
        plan->check && round >= column->rounds - CHECKED && (round == column->rounds - 1 || ways->bytes <= 65536);
    uint64_t seed = plan->seed;
    if (checked && ways->bytes <= BENCH_CHECK_FULL)
        seed += ways->bytes * 31 + (uint64_t)round * 7 + (uint64_t)way;
    bench_way_prepare(plan, ways, way, seed);
    if (checked)
        bench_way_spoil(plan, ways, way);
    column->time[round] = run_round(plan, ways, way, column);
    if (checked && plan->in_place) { /* many calls in place have no result that can be foretold */
        bench_way_restore(plan, ways, way);
        bench_mpi.Barrier(MPI_COMM_WORLD);
        if (column->single)
            bench_graph_launch(column->single);
        else
            enqueue(plan, ways, way, 0);
        bench_gpu_sync();
        if (plan->root == BENCH_ALL_ROOTS)
            bench_way_calls(ways, way)->root = 0;
    } else if (checked && plan->root == BENCH_ALL_ROOTS) {
        bench_way_calls(ways, way)->root = (column->calls - 1) % plan->size;
    }
    return !checked || bench_way_check(plan, ways, way, seed, exact);
}

static void say_times(const struct bench_plan *plan, int way, struct column *column)
{
    struct bench_figures figures = bench_figures_of(column->time, column->rounds);
    figures.iterations = (long)column->calls * column->replays * column->rounds;
    bench_say_time(plan, bench_way_name(way), 0, &figures);
}

int bench_run_ordered(const struct bench_plan *plan, struct bench_ways *ways)
{
    static struct column column[BENCH_WAYS];
    char algorithm[96], what[32];
    int accelerated, right = 1, rounds = 0;
    snprintf(what, sizeof what, "%zu bytes", ways->bytes);
    bench_find_algorithm(plan, ways, algorithm, sizeof algorithm, &accelerated);
    for (int way = 0; way < BENCH_WAYS; way++) {
        column[way] = (struct column){0};
        if (!ways->used[way])
            continue;
        bench_say_progress(plan, bench_way_name(way), what, 0, ROUNDS);
        open_column(plan, ways, way, &column[way]);
        rounds = column[way].rounds > rounds ? column[way].rounds : rounds;
    }
    for (int round = 0; round < rounds && right; round++) {
        bench_say_progress(plan, "all ways", what, round, rounds);
        for (int way = 0; way < BENCH_WAYS && right; way++) {
            int own = way == BENCH_TUTTI || way == BENCH_REFERENCE;
            if (ways->used[way] && round < column[way].rounds)
                right = round_of(plan, ways, way, &column[way], round, own);
        }
    }
    if (right) {
        bench_say(plan, "row %zu %zu %d %s", bench_call_bytes(&ways->call), ways->call.count,
                  column[BENCH_TUTTI].calls * column[BENCH_TUTTI].replays * column[BENCH_TUTTI].rounds, algorithm);
        for (int way = 0; way < BENCH_WAYS; way++) {
            if (ways->used[way])
                say_times(plan, way, &column[way]);
        }
        bench_say(plan, "done");
    }
    for (int way = 0; way < BENCH_WAYS; way++)
        close_column(&column[way]);
    return right;
}

double bench_ordered_time(const struct bench_plan *plan, struct bench_ways *ways)
{
    struct bench_plan as = *plan;
    as.order = bench_gpu_has_graphs() ? BENCH_GRAPH : BENCH_STREAM;
    as.iterations = 0;
    struct column column = {0};
    open_column(&as, ways, BENCH_TUTTI, &column);
    for (int r = 0; r < column.rounds; r++)
        column.time[r] = run_round(&as, ways, BENCH_TUTTI, &column);
    close_column(&column);
    return bench_median(column.time, column.rounds);
}
