/* Collectives that the host puts into a stream: many between two marks, call by call or captured in a graph. Both
 * address spaces use the same stream, clock and graphs. */
#include <stdio.h>
#include <string.h>

#include "bench/common/batch.h"
#include "bench/common/gpu.h"
#include "bench/shmem/measure.h"
#include "tutti/shmem.h"
#include "tutti/tutti.h"

enum { WARM_UP = 5, CHECKED = 2 };

int gas_enqueue_tutti(const struct gas_call *c, void *stream)
{
    const size_t n = c->bytes / sizeof(float);
    switch (c->operation) {
    case GAS_TEAM_SUM:
        return tshmem_float_sum_reduce_on_stream(c->team, (float *)(void *)c->in, (const float *)(const void *)c->out,
                                                 n, stream);
    case GAS_BROADCAST:
        return tshmem_broadcastmem_on_stream(c->team, c->in, c->out, c->bytes, 0, stream);
    case GAS_FCOLLECT:
        return tshmem_fcollectmem_on_stream(c->team, c->in, c->out, c->bytes, stream);
    case GAS_ALLTOALL:
        return tshmem_alltoallmem_on_stream(c->team, c->in, c->out, c->bytes, stream);
    case GAS_SYNC:
        return tshmem_sync_on_stream(c->team, stream);
    case GAS_BARRIER:
        return tshmem_barrier_on_stream(c->team, stream);
    case GAS_ORDER: {
        int status = tshmem_putmem_on_stream(c->in, c->out, sizeof(uint64_t), (c->me + 1) % c->pes, stream);
        if (status == 0)
            status = tshmem_barrier_on_stream(c->team, stream);
        return status != 0 ? status
                           : tshmem_getmem_on_stream(c->in + sizeof(uint64_t), c->in, sizeof(uint64_t), c->me, stream);
    }
    default:
        return -1;
    }
}

/* A way of a row. */
struct column {
    struct gas_call call;
    const struct gas_side *side;
    struct bench_graph *graph; /* NULL: call by call */
    struct bench_batch batch;
    double time[BENCH_BATCH_ROUNDS_MOST];
    int used;
};

static void column_put(const struct column *column, const struct gas_call *call)
{
    if (column->side->enqueue(call, bench_gpu_stream()) != 0)
        bench_fail("%s: operation %d of %zu bytes could not be put into the stream", column->side->name,
                   call->operation, call->bytes);
}

static void column_replay(const struct column *column)
{
    if (column->graph) {
        bench_graph_launch(column->graph);
        return;
    }
    for (int i = 0; i < column->batch.calls; i++)
        column_put(column, &column->call);
}

/* Microseconds of one call, the slowest PE's. The first replay brings the PEs together. */
static double column_run(const struct column *column)
{
    bench_mpi.Barrier(MPI_COMM_WORLD);
    column_replay(column);
    bench_gpu_start();
    for (int i = 0; i < column->batch.replays; i++)
        column_replay(column);
    const double took = bench_gpu_stop();
    return bench_longest(took / ((double)column->batch.calls * column->batch.replays));
}

/* 1 if all PEs have captured the calls. A peer that cannot capture makes all go on without a graph. */
static int column_capture(struct column *column)
{
    int fine = 1;
    bench_graph_begin();
    for (int i = 0; fine && i < column->batch.calls; i++)
        fine = column->side->enqueue(&column->call, bench_gpu_stream()) == 0;
    column->graph = bench_graph_try_end();
    if (!bench_all_agree(fine && column->graph))
        return 0;
    bench_graph_launch(column->graph); /* the first launch brings the graph to the device */
    bench_gpu_sync();
    return 1;
}

/* As many as a round of `most` microseconds has room for; us: of a call, alike on all ranks. */
static void column_fit(struct column *column, size_t bytes, double us, double most)
{
    const struct bench_batch usual = bench_batch_of(bytes);
    const double fits = us > 0 ? most / us : usual.calls * usual.replays;
    column->batch.calls = fits < 1 ? 1 : fits < usual.calls ? (int)fits : usual.calls;
    column->batch.replays = (int)(fits / column->batch.calls);
    if (column->batch.replays < 1)
        column->batch.replays = 1;
    else if (column->batch.replays > usual.replays)
        column->batch.replays = usual.replays;
}

static void open_column(struct gas_bench *bench, const struct gas_row *row, int way, int in_graph,
                        struct column *column)
{
    const struct bench_plan *plan = bench->plan;
    const int which = gas_side_of(way);
    const uint64_t seed = gas_seed_next(plan);
    column->side = &bench->side[which];
    column->call = gas_call_of(bench, row, which, seed);
    column->batch = (struct bench_batch){.calls = WARM_UP, .replays = 1, .rounds = BENCH_BATCH_ROUNDS};
    if (plan->iterations > 0)
        column->batch.rounds =
            (int)(plan->iterations < BENCH_BATCH_ROUNDS_MOST ? plan->iterations : BENCH_BATCH_ROUNDS_MOST);
    if (gas_fill(bench, row, which, seed) != 0)
        bench_fail("rank %d cannot fill its heap", plan->rank);
    for (int i = 0; i < WARM_UP; i++)
        column_put(column, &column->call);
    bench_gpu_sync();
    column_fit(column, row->bytes, column_run(column), plan->seconds * 1e6);
    if (in_graph && !column_capture(column)) {
        if (which == GAS_SIDE_TUTTI)
            bench_fail("%s of %zu bytes could not be captured", row->name, row->bytes);
        if (plan->rank == 0)
            fprintf(stderr, "tutti: graph: %s of %zu bytes by %s could not be captured, and is left out\n", row->name,
                    row->bytes, gas_way_name(way));
        return;
    }
    column->used = 1;
}

/* A timed round; the last ones have new data, which are looked at. 1 if they are right. */
static int round_of(struct gas_bench *bench, const struct gas_row *row, struct column *column, int which, int round)
{
    const int checked = bench->plan->check && round >= column->batch.rounds - CHECKED;
    const uint64_t seed = checked ? gas_seed_next(bench->plan) : 0;
    if (checked && gas_fill(bench, row, which, seed) != 0)
        bench_fail("rank %d cannot fill its heap", bench->plan->rank);
    column->time[round] = column_run(column);
    if (which == GAS_SIDE_TUTTI && tshmem_error() != 0)
        bench_fail("rank %d: %s of %zu bytes: the address space is broken", bench->plan->rank, row->name, row->bytes);
    if (!checked)
        return 1;
    if (row->operation == GAS_BARRIER || row->operation == GAS_SYNC) {
        struct gas_call call = column->call;
        call.operation = GAS_ORDER;
        column_put(column, &call);
        bench_gpu_sync();
    }
    return bench_all_agree(gas_check(bench, row, which, seed, 1));
}

static void column_print(const struct gas_bench *bench, int way, struct column *column)
{
    struct bench_figures figures = bench_figures_of(column->time, column->batch.rounds);
    figures.iterations = (long)column->batch.calls * column->batch.replays * column->batch.rounds;
    bench_say_time(bench->plan, gas_way_name(way), 0, &figures);
}

static int order_measure(struct gas_bench *bench, const struct gas_row *row, int in_graph)
{
    static struct column columns[GAS_WAYS];
    int rounds = 0, wrong = -1;
    memset(columns, 0, sizeof columns);
    for (int way = 0; way < GAS_WAYS; way++) {
        if (!(row->ways & bench->plan->ways & 1u << way) || !bench->side[gas_side_of(way)].name)
            continue;
        open_column(bench, row, way, in_graph, &columns[way]);
        if (columns[way].used && columns[way].batch.rounds > rounds)
            rounds = columns[way].batch.rounds;
    }
    for (int round = 0; round < rounds; round++) {
        for (int way = 0; wrong < 0 && way < GAS_WAYS; way++) {
            if (columns[way].used && !round_of(bench, row, &columns[way], gas_side_of(way), round))
                wrong = way;
        }
    }
    gas_say_row(bench, row);
    for (int way = 0; wrong < 0 && way < GAS_WAYS; way++) {
        if (columns[way].used)
            column_print(bench, way, &columns[way]);
    }
    for (int way = 0; way < GAS_WAYS; way++)
        bench_graph_free(columns[way].graph);
    if (wrong >= 0)
        return gas_say_wrong(bench, row, wrong);
    bench_say(bench->plan, "done");
    return 1;
}

/* ---- the figures ---- */

unsigned gas_ordered_missing(const struct gas_bench *bench, unsigned figures)
{
    const unsigned graph = 1u << GAS_FIGURE_GRAPH, both = GAS_IN_STREAMS;
    char why[160] = "";
    if (!(figures & both))
        return 0;
    if (!bench_all_agree(tutti_is_device(bench->memory[GAS_SIDE_TUTTI].in) != 0)) {
        bench_say(bench->plan,
                  "note graph and stream are left out: heaps in host memory have no stream (TUTTI_SHMEM_HEAP)");
        return both;
    }
    if (!bench_all_agree(bench_gpu_open(why, sizeof why))) {
        bench_say(bench->plan, "note graph and stream are left out: %s", why[0] ? why : "another rank has no stream");
        return both;
    }
    if (!(figures & graph) || bench_gpu_has_graphs())
        return 0;
    bench_say(bench->plan, "note graph is left out: this device has no graphs");
    return graph;
}

void gas_ordered(struct gas_bench *bench, enum gas_figure figure)
{
    static const struct {
        int operation;
        const char *name;
    } calls[] = {{GAS_TEAM_SUM, "sum"},        {GAS_BARRIER, "barrier"},   {GAS_SYNC, "sync"},
                 {GAS_BROADCAST, "broadcast"}, {GAS_FCOLLECT, "fcollect"}, {GAS_ALLTOALL, "alltoall"}};
    struct gas_row row = {
        .figure = figure, .target = -1, .pes = bench->plan->size, .ways = GAS_WAY_BIT(TUTTI) | GAS_WAY_BIT(NVSHMEM)};
    gas_take_team(bench, row.pes);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const int sized = calls[i].operation != GAS_BARRIER && calls[i].operation != GAS_SYNC;
        row.operation = calls[i].operation;
        row.name = calls[i].name;
        for (int s = 0; bench->right && s < (sized ? bench->n_sizes : 1); s++) {
            row.bytes = sized ? bench->sizes[s] : 0;
            if (row.bytes % sizeof(float) == 0)
                order_measure(bench, &row, figure == GAS_FIGURE_GRAPH);
        }
    }
}
