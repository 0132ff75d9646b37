/* Calls in stream order: enqueued back to back, or captured in a graph that is replayed. Rounds go A B C A B C ...; in
 * a round every rank puts the same calls into its stream, and the time between two marks in the stream is divided by
 * their number. Some more calls before the first mark bring the ranks together. The last round's results are checked.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/gpu.h"
#include "bench/common/lanes.h"
#include "bench/reductions/enqueue.h"
#include "bench/reductions/nccl.h"
#include "bench/reductions/order.h"

enum { ROUNDS = 9, CHECKED = 2 };

struct lane {
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

static void replay(const struct bench_plan *plan, struct bench_ways *ways, int way, const struct lane *lane)
{
    if (lane->graph) {
        bench_graph_launch(lane->graph);
        return;
    }
    for (int i = 0; i < lane->calls; i++)
        enqueue(plan, ways, way, i);
}

static int in_graph(const struct bench_plan *plan, int way)
{
    return plan->order == BENCH_GRAPH && way != BENCH_NCCL;
}

/* One round; microseconds of one call, the slowest rank's. */
static double run_round(const struct bench_plan *plan, struct bench_ways *ways, int way, const struct lane *lane)
{
    bench_mpi.Barrier(MPI_COMM_WORLD);
    replay(plan, ways, way, lane);
    bench_gpu_start();
    for (int i = 0; i < lane->replays; i++)
        replay(plan, ways, way, lane);
    double took = bench_gpu_stop();
    return bench_longest(took / ((double)lane->calls * lane->replays));
}

static void open_lane(const struct bench_plan *plan, struct bench_ways *ways, int way, struct lane *lane)
{
    size_t k = 1024, m = k * k, bytes = ways->bytes;
    lane->calls = bytes <= 128 * k ? 50 : bytes <= 2 * m ? 40 : bytes <= 8 * m ? 20 : bytes <= 32 * m ? 10 : 4;
    lane->replays = bytes <= 128 * k ? 20 : bytes <= 2 * m ? 8 : bytes <= 8 * m ? 4 : bytes <= 32 * m ? 2 : 1;
    lane->rounds = ROUNDS;
    if (plan->iterations) { /* of all rounds together */
        long each = (plan->iterations + ROUNDS - 1) / ROUNDS;
        lane->calls = each < lane->calls ? (int)each : lane->calls;
        lane->replays = (int)((each + lane->calls - 1) / lane->calls);
    }
    bench_way_prepare(plan, ways, way, plan->seed);
    long warm_up = plan->warm_up >= 0 ? plan->warm_up : bytes <= 8 * m ? 10 : 2;
    for (long i = 0; i < warm_up; i++)
        enqueue(plan, ways, way, (int)i);
    bench_gpu_sync();
    if (in_graph(plan, way)) {
        lane->graph = capture(plan, ways, way, lane->calls);
        if (plan->in_place)
            lane->single = capture(plan, ways, way, 1);
        bench_graph_launch(lane->graph); /* the first launch brings the graph to the device */
        bench_gpu_sync();
    }
    if (plan->seconds > 0) {
        double replay_us = run_round(plan, ways, way, lane) * lane->calls, most = plan->seconds * 1e6 / replay_us;
        while (lane->replays > 1 && (double)lane->rounds * (lane->replays + 1) > most)
            lane->replays--;
        while (lane->rounds > 3 && (double)lane->rounds * (lane->replays + 1) > most)
            lane->rounds--;
    }
}

static void close_lane(struct lane *lane)
{
    bench_graph_free(lane->graph);
    bench_graph_free(lane->single);
    lane->graph = lane->single = NULL;
}

/* A timed round; where it is among the last, its result is checked. */
static int round_of(const struct bench_plan *plan, struct bench_ways *ways, int way, struct lane *lane, int round,
                    int exact)
{
    int checked = plan->check && round >= lane->rounds - CHECKED && (round == lane->rounds - 1 || ways->bytes <= 65536);
    uint64_t seed = plan->seed;
    if (checked && ways->bytes <= BENCH_CHECK_FULL)
        seed += ways->bytes * 31 + (uint64_t)round * 7 + (uint64_t)way;
    bench_way_prepare(plan, ways, way, seed);
    if (checked)
        bench_way_spoil(plan, ways, way);
    lane->time[round] = run_round(plan, ways, way, lane);
    if (checked && plan->in_place) { /* many calls in place have no result that can be foretold */
        bench_way_restore(plan, ways, way);
        bench_mpi.Barrier(MPI_COMM_WORLD);
        if (lane->single)
            bench_graph_launch(lane->single);
        else
            enqueue(plan, ways, way, 0);
        bench_gpu_sync();
        if (plan->root == BENCH_ALL_ROOTS)
            bench_way_calls(ways, way)->root = 0;
    } else if (checked && plan->root == BENCH_ALL_ROOTS) {
        bench_way_calls(ways, way)->root = (lane->calls - 1) % plan->size;
    }
    return !checked || bench_way_check(plan, ways, way, seed, exact);
}

static void say_times(const struct bench_plan *plan, int way, struct lane *lane)
{
    struct bench_figures figures = bench_figures_of(lane->time, lane->rounds);
    figures.iterations = (long)lane->calls * lane->replays * lane->rounds;
    bench_say_time(plan, bench_way_name(way), 0, &figures);
}

int bench_run_ordered(const struct bench_plan *plan, struct bench_ways *ways)
{
    static struct lane lane[BENCH_WAYS];
    char algorithm[96], what[32];
    int accelerated, right = 1, rounds = 0;
    snprintf(what, sizeof what, "%zu bytes", ways->bytes);
    bench_find_algorithm(plan, ways, algorithm, sizeof algorithm, &accelerated);
    for (int way = 0; way < BENCH_WAYS; way++) {
        lane[way] = (struct lane){0};
        if (!ways->used[way])
            continue;
        bench_say_progress(plan, bench_way_name(way), what, 0, ROUNDS);
        open_lane(plan, ways, way, &lane[way]);
        rounds = lane[way].rounds > rounds ? lane[way].rounds : rounds;
    }
    for (int round = 0; round < rounds && right; round++) {
        bench_say_progress(plan, "all ways", what, round, rounds);
        for (int way = 0; way < BENCH_WAYS && right; way++) {
            int own = way == BENCH_TUTTI || way == BENCH_REFERENCE;
            if (ways->used[way] && round < lane[way].rounds)
                right = round_of(plan, ways, way, &lane[way], round, own);
        }
    }
    if (right) {
        bench_say(plan, "row %zu %zu %d %s", bench_call_bytes(&ways->call), ways->call.count,
                  lane[BENCH_TUTTI].calls * lane[BENCH_TUTTI].replays * lane[BENCH_TUTTI].rounds, algorithm);
        for (int way = 0; way < BENCH_WAYS; way++) {
            if (ways->used[way])
                say_times(plan, way, &lane[way]);
        }
        bench_say(plan, "done");
    }
    for (int way = 0; way < BENCH_WAYS; way++)
        close_lane(&lane[way]);
    return right;
}

double bench_ordered_time(const struct bench_plan *plan, struct bench_ways *ways)
{
    struct bench_plan as = *plan;
    as.order = bench_gpu_has_graphs() ? BENCH_GRAPH : BENCH_STREAM;
    as.iterations = 0;
    struct lane lane = {0};
    open_lane(&as, ways, BENCH_TUTTI, &lane);
    for (int r = 0; r < lane.rounds; r++)
        lane.time[r] = run_round(&as, ways, BENCH_TUTTI, &lane);
    close_lane(&lane);
    return bench_median(lane.time, lane.rounds);
}
