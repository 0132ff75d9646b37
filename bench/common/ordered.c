#include "bench/common/ordered.h"

#include "bench/common/columns.h"
#include "bench/common/gpu.h"

enum { ROUNDS = BENCH_BATCH_ROUNDS, CHECKED = 2 };

static struct bench_graph *ordered_capture(const struct bench_ordered *o, int number, int calls)
{
    bench_graph_begin();
    for (int i = 0; i < calls; i++)
        o->enqueue(o->with, number, i);
    return bench_graph_end();
}

static void ordered_replay(const struct bench_ordered *o, int number, const struct bench_ordered_column *column)
{
    if (column->graph) {
        bench_graph_launch(column->graph);
        return;
    }
    for (int i = 0; i < column->calls; i++)
        o->enqueue(o->with, number, i);
}

/* One round; microseconds of one call, the slowest rank's. */
static double ordered_round(const struct bench_ordered *o, int number, const struct bench_ordered_column *column)
{
    bench_mpi.Barrier(MPI_COMM_WORLD);
    ordered_replay(o, number, column);
    bench_gpu_start();
    for (int i = 0; i < column->replays; i++)
        ordered_replay(o, number, column);
    double took = bench_gpu_stop();
    return bench_longest(took / ((double)column->calls * column->replays));
}

static void ordered_open(const struct bench_ordered *o, int number, struct bench_ordered_column *column)
{
    const struct bench_plan *plan = o->plan;
    const struct bench_batch batch = bench_batch_of(o->bytes);
    column->calls = batch.calls;
    column->replays = batch.replays;
    column->rounds = batch.rounds;
    if (plan->iterations) { /* of all rounds together */
        long each = (plan->iterations + ROUNDS - 1) / ROUNDS;
        column->calls = each < column->calls ? (int)each : column->calls;
        column->replays = (int)((each + column->calls - 1) / column->calls);
    }
    o->prepare(o->with, number, -1, 0);
    long warm_up = plan->warm_up >= 0 ? plan->warm_up : o->bytes <= (size_t)8 << 20 ? 10 : 2;
    for (long i = 0; i < warm_up; i++)
        o->enqueue(o->with, number, (int)i);
    bench_gpu_sync();
    if (column->in_graph) {
        column->graph = ordered_capture(o, number, column->calls);
        if (o->single)
            column->single = ordered_capture(o, number, 1);
        bench_graph_launch(column->graph); /* the first launch brings the graph to the device */
        bench_gpu_sync();
    }
    if (plan->seconds > 0) {
        double replay_us = ordered_round(o, number, column) * column->calls, most = plan->seconds * 1e6 / replay_us;
        while (column->replays > 1 && (double)column->rounds * (column->replays + 1) > most)
            column->replays--;
        while (column->rounds > 3 && (double)column->rounds * (column->replays + 1) > most)
            column->rounds--;
    }
}

static void ordered_close(struct bench_ordered_column *column)
{
    bench_graph_free(column->graph);
    bench_graph_free(column->single);
    column->graph = column->single = NULL;
}

/* A timed round; where it is among the last, its result is checked. */
static int ordered_checked_round(const struct bench_ordered *o, int number, struct bench_ordered_column *column,
                                 int round)
{
    const int checked =
        o->plan->check && round >= column->rounds - CHECKED && (round == column->rounds - 1 || o->bytes <= 65536);
    o->prepare(o->with, number, round, checked);
    column->time[round] = ordered_round(o, number, column);
    if (!checked)
        return 1;
    if (o->single) {
        if (o->restore)
            o->restore(o->with, number);
        bench_mpi.Barrier(MPI_COMM_WORLD);
        if (column->single)
            bench_graph_launch(column->single);
        else
            o->enqueue(o->with, number, 0);
        bench_gpu_sync();
    }
    return o->check(o->with, number, round, o->single ? 0 : column->calls - 1);
}

int bench_ordered_run(const struct bench_ordered *o, struct bench_ordered_column columns[], int n)
{
    int right = 1, rounds = 0;
    for (int c = 0; c < n; c++) {
        if (!columns[c].name)
            continue;
        bench_say_progress(o->plan, columns[c].name, o->what, 0, ROUNDS);
        ordered_open(o, c, &columns[c]);
        rounds = columns[c].rounds > rounds ? columns[c].rounds : rounds;
    }
    for (int round = 0; round < rounds && right; round++) {
        bench_say_progress(o->plan, "all ways", o->what, round, rounds);
        for (int c = 0; c < n && right; c++) {
            if (columns[c].name && round < columns[c].rounds)
                right = ordered_checked_round(o, c, &columns[c], round);
        }
    }
    for (int c = 0; c < n; c++)
        ordered_close(&columns[c]);
    return right;
}

void bench_ordered_say(const struct bench_plan *plan, struct bench_ordered_column *column)
{
    struct bench_figures figures = bench_figures_of(column->time, column->rounds);
    figures.iterations = (long)column->calls * column->replays * column->rounds;
    bench_say_time(plan, column->name, 0, &figures);
}

double bench_ordered_median(const struct bench_ordered *o, struct bench_ordered_column *column, int number)
{
    ordered_open(o, number, column);
    for (int r = 0; r < column->rounds; r++)
        column->time[r] = ordered_round(o, number, column);
    ordered_close(column);
    return bench_median(column->time, column->rounds);
}
