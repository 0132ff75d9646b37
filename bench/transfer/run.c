/* Timing of the transfers in the order of the host, each way in turn (columns.h). Messages: the time of the rank that
 * sends and takes longest. Collectives: the average over ranks, as the OSU benchmarks have it. With --nonblocking a way
 * has two columns: the call with its wait, and the same with a computation in between that takes as long as that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/by_hand.h"
#include "bench/common/columns.h"
#include "bench/common/energy.h"
#include "bench/common/gpu.h"
#include "bench/common/ordered.h"
#include "bench/common/outcome.h"
#include "bench/common/place.h"
#include "bench/transfer/ways.h"
#include "core/clock.h"
#include "core/trace.h"
#include "rules/rules.h"
#include "tutti/tutti.h"

enum { TRANSFER_COLUMNS = 2 * TRANSFER_WAYS };

struct transfer_run {
    struct transfer t;
    struct transfer_memory memory;
    int used[TRANSFER_WAYS];
    struct transfer_sums { /* us, over calls at the current size */
        double pure;
        long pures;
        struct bench_column part[TRANSFER_PARTS]; /* of the calls with the computation, but PURE */
    } sum[TRANSFER_WAYS];
};

/* ---- one call ---- */

static void transfer_must(const struct transfer *t, int way, int error)
{
    if (error != MPI_SUCCESS)
        bench_fail("MPI_%s (%s) failed with error %d", t->row->call, transfer_way_name(way), error);
}

static void transfer_by_hand(const struct transfer_run *run, int way, int back)
{
    const struct transfer *t = &run->t;
    const struct transfer_buffers b = transfer_buffers_of(&run->memory, way);
    const size_t bytes = (size_t)(back ? t->row->out(t) : t->row->in(t)) * t->bytes;
    if (!(back ? b.device_out : b.device_in) || t->row->copies || bytes == 0)
        return;
    bench_copy_by_hand(back ? b.device_out : b.in, back ? b.out : b.device_in, bytes, "copying");
}

static int transfer_is_nccl(int way)
{
    return way >= TRANSFER_WAY_NCCL;
}

static void transfer_start(const struct transfer_run *run, int way, MPI_Request *request)
{
    const struct transfer *t = &run->t;
    const struct transfer_buffers b = transfer_buffers_of(&run->memory, way);
    if (transfer_is_nccl(way)) {
        t->row->nccl(t, way == TRANSFER_WAY_NCCL_CE ? BENCH_NCCL_ENGINES : BENCH_NCCL_USUAL, &b);
        return;
    }
    transfer_by_hand(run, way, 0);
    transfer_must(t, way, request ? t->row->start(t, way, &b, request) : t->row->run(t, way, &b));
}

static void transfer_finish(const struct transfer_run *run, int way, MPI_Request *request)
{
    const struct transfer *t = &run->t;
    if (transfer_is_nccl(way)) {
        if (t->row->group == TRANSFER_MOVERS)
            bench_gpu_sync();
        return;
    }
    if (request)
        transfer_must(t, way, t->mpi[way].Wait(request, MPI_STATUS_IGNORE));
    transfer_by_hand(run, way, 1);
}

/* The computation: the host is busy for so long, and asks `tests` times whether the call is complete. Its own time, in
 * us. */
static double transfer_compute(const struct transfer_run *run, int way, MPI_Request *request, double us)
{
    const struct transfer *t = &run->t;
    const int parts = t->what->tests + 1;
    double spent = 0;
    for (int p = 0; p < parts; p++) {
        const uint64_t start = tutti_now_ns(), end = start + (uint64_t)(us * 1e3 / parts);
        uint64_t now = start;
        while (now < end)
            now = tutti_now_ns();
        spent += (double)(now - start) * 1e-3;
        int done;
        if (p + 1 < parts && !transfer_is_nccl(way))
            transfer_must(t, way, t->mpi[way].Test(request, &done, MPI_STATUS_IGNORE));
    }
    return spent;
}

static void transfer_take_rules(int way)
{
    static int staged;
    char wrong[320] = "";
    if (staged == (way == TRANSFER_WAY_STAGED))
        return;
    staged = way == TRANSFER_WAY_STAGED;
    const char *rules = "message: *@staged message_far: *@staged bcast: *@mpi gather: *@mpi scatter: *@mpi "
                        "allgather: *@mpi alltoall: *@mpi neighbor: *@mpi bcast_nodes: *@mpi gather_nodes: *@mpi "
                        "scatter_nodes: *@mpi allgather_nodes: *@mpi alltoall_nodes: *@mpi "
                        "neighbor_nodes: *@mpi";
    tutti_rules_follow(staged);
    if (tutti_rules_set(staged ? rules : NULL, wrong, sizeof wrong) != 0)
        bench_fail("%s", wrong);
}

/* Before the calls are counted there is no room for them. */
static void transfer_keep(struct transfer_sums *sum, int part, long i, double us)
{
    if (sum->part[part].samples && i < sum->part[part].iterations)
        sum->part[part].samples[i] = us;
}

static double transfer_once(void *with, int column, long i)
{
    struct transfer_run *run = with;
    const struct transfer *t = &run->t;
    const int way = column % TRANSFER_WAYS, overlap = column >= TRANSFER_WAYS;
    struct transfer_sums *sum = &run->sum[way];
    MPI_Request pending = MPI_REQUEST_NULL, *request = t->what->nonblocking ? &pending : NULL;
    double computed = 0;
    transfer_take_rules(way);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    const uint64_t start = tutti_now_ns();
    uint64_t started = start, ready = start;
    for (int loop = 0; loop < t->loops; loop++) {
        transfer_start(run, way, request);
        if (overlap) {
            started = tutti_now_ns();
            computed = transfer_compute(run, way, request, sum->pures ? sum->pure / (double)sum->pures : 0);
            ready = tutti_now_ns();
        }
        transfer_finish(run, way, request);
    }
    const uint64_t end = tutti_now_ns();
    const double took = (double)(end - start) * 1e-3 / t->loops;
    if (overlap && i >= 0) {
        transfer_keep(sum, TRANSFER_OVERALL, i, took);
        transfer_keep(sum, TRANSFER_COMPUTE, i, computed);
        transfer_keep(sum, TRANSFER_START, i, (double)(started - start) * 1e-3);
        transfer_keep(sum, TRANSFER_WAIT, i, (double)(end - ready) * 1e-3);
        transfer_keep(sum, TRANSFER_LEFT, i, took - computed);
    } else if (!overlap) {
        sum->pure += took;
        sum->pures++;
    }
    if (t->row->group == TRANSFER_MESSAGES && !t->sends)
        return 0;
    return t->what->id == TRANSFER_LATENCY ? took / 2 : took;
}

/* ---- data ---- */

static uint64_t transfer_seed(const struct transfer *t, int column, long i)
{
    const int most = t->row->group == TRANSFER_MESSAGES ? t->what->window : t->n;
    const int full = (size_t)most * t->bytes <= TRANSFER_CHECK_FULL;
    return t->plan->seed + t->bytes * 31 + (full ? (uint64_t)i * 1009 + (uint64_t)column * 7 + 1 : 0);
}

static void transfer_prepare(void *with, int column, long i, int new_data)
{
    struct transfer_run *run = with;
    const struct transfer *t = &run->t;
    if (new_data)
        transfer_fill(t, &run->memory, column % TRANSFER_WAYS, transfer_seed(t, column, i), 1);
}

static int transfer_right(void *with, int column, long i)
{
    const struct transfer_run *run = with;
    return transfer_check(&run->t, &run->memory, column % TRANSFER_WAYS, transfer_seed(&run->t, column, i));
}

/* ---- one size ---- */

/* How the call goes, now that its memory is known everywhere. */
static void transfer_say_how(struct transfer_run *run)
{
    char counted[48], text[128];
    int accelerated;
    snprintf(counted, sizeof counted, "_%s%s", run->t.what->nonblocking ? "I" : "", run->t.row->call);
    for (char *at = counted + 2; run->t.what->nonblocking && *at; at++)
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    bench_outcome_begin();
    transfer_once(run, TRANSFER_WAY_TUTTI, -1);
    bench_outcome_end(counted, text, sizeof text, &accelerated);
    transfer_share_how(&run->t, text, sizeof text);
    bench_say(run->t.plan, "how %s", text);
}

static void transfer_say_times(const struct transfer_run *run, const struct bench_column *columns)
{
    const struct transfer *t = &run->t;
    for (int way = 0; way < TRANSFER_WAYS; way++) {
        const struct bench_column *const part = run->sum[way].part;
        if (!columns[way].name)
            continue;
        if (t->row->group == TRANSFER_MESSAGES)
            bench_say_longest(t->plan, &columns[way], 0);
        else
            bench_say_average(t->plan, &columns[way], TRANSFER_PURE);
        if (!t->what->nonblocking)
            continue;
        for (int p = TRANSFER_OVERALL; p < TRANSFER_PARTS; p++)
            bench_say_calls(t->plan, &part[p], p);
    }
}

/* Some more calls with the library's marks on: the median time between the steps of its messages, and how often a step
 * comes for each message that the rank sends or receives. Of ranks 0 and 1, which are a pair or send to others. */
static void transfer_say_steps(struct transfer_run *run)
{
    enum { CALLS = 100, RANKS = 2 };
    const struct transfer *t = &run->t;
    struct tutti_trace_figure figures[TUTTI_TRACE_STEPS];
    double mine[RANKS][TUTTI_TRACE_STEPS][2] = {{{0}}}, all[RANKS][TUTTI_TRACE_STEPS][2];
    const double messages = (double)CALLS * t->loops * (t->what->id == TRANSFER_LATENCY ? 1 : t->what->window);
    transfer_once(run, TRANSFER_WAY_TUTTI, -1);
    tutti_trace_switch(1);
    tutti_trace_take(figures);
    for (int call = 0; call < CALLS; call++)
        transfer_once(run, TRANSFER_WAY_TUTTI, -1);
    tutti_trace_switch(0);
    tutti_trace_take(figures);
    for (int step = 0; t->rank < RANKS && step < TUTTI_TRACE_STEPS; step++) {
        mine[t->rank][step][0] = figures[step].median;
        mine[t->rank][step][1] = (double)figures[step].count / messages;
    }
    bench_mpi.Allreduce(mine, all, RANKS * TUTTI_TRACE_STEPS * 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench_say(t->plan, "line steps of %zu bytes, median ns (times a message): rank 0, rank 1", t->bytes);
    for (int step = 0; step < TUTTI_TRACE_STEPS; step++) {
        if (all[0][step][1] > 0 || all[1][step][1] > 0)
            bench_say(t->plan, "line   %-18s %9.0f (%.2f) %9.0f (%.2f)", tutti_trace_name(step), all[0][step][0],
                      all[0][step][1], all[1][step][0], all[1][step][1]);
    }
}

/* What the library counts in some more calls, for each message that the rank sends or receives. An MPI_Isend by a
 * rendezvous sends two messages of the MPI: the RTS, and the one that completes its request. */
static void transfer_say_counts(struct transfer_run *run)
{
    enum { CALLS = 20, RANKS = 2 };
    static const struct {
        const char *name, *row[2];
    } counts[] = {{"kernels launched", {"packing kernels|launched", NULL}},
                  {"served by one that stayed", {"packing kernels|served", NULL}},
                  {"halves or wholes by engines", {"copies of messages|", NULL}},
                  {"questions to the driver", {"GPU driver|asked", NULL}},
                  {"sent by rendezvous", {"MPI_Send|accelerated", "MPI_Isend|accelerated"}},
                  {"sent by way of the host", {"MPI_Send|staged", "MPI_Isend|staged"}}};
    enum { COUNTS = sizeof counts / sizeof counts[0] };
    const struct transfer *t = &run->t;
    const double messages = (double)CALLS * t->loops * (t->what->id == TRANSFER_LATENCY ? 1 : t->what->window);
    double mine[COUNTS][RANKS] = {{0}}, all[COUNTS][RANKS];
    char text[128];
    int accelerated;
    bench_outcome_begin();
    for (int call = 0; call < CALLS; call++)
        transfer_once(run, TRANSFER_WAY_TUTTI, -1);
    for (int c = 0; t->rank < RANKS && c < COUNTS; c++) {
        for (int r = 0; r < 2 && counts[c].row[r]; r++)
            mine[c][t->rank] += (double)bench_outcome_counted(counts[c].row[r]) / messages;
    }
    bench_outcome_end("", text, sizeof text, &accelerated);
    bench_mpi.Allreduce(mine, all, COUNTS * RANKS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench_say(t->plan, "line counts of %zu bytes, a message: rank 0, rank 1", t->bytes);
    for (int c = 0; c < COUNTS; c++) {
        if (all[c][0] > 0 || all[c][1] > 0)
            bench_say(t->plan, "line   %-28s %7.3f %7.3f", counts[c].name, all[c][0], all[c][1]);
    }
}

/* Room for the parts of the calls of a column, which may be unused. */
static void transfer_parts_open(struct transfer_sums *sum, const struct bench_column *of)
{
    for (int p = TRANSFER_OVERALL; of->name && p < TRANSFER_PARTS; p++) {
        sum->part[p] = (struct bench_column){.name = of->name, .iterations = of->iterations};
        sum->part[p].samples = calloc((size_t)of->iterations, sizeof *of->samples);
        if (!sum->part[p].samples)
            bench_fail("out of memory");
    }
}

static int transfer_measure(struct transfer_run *run)
{
    const struct transfer *t = &run->t;
    const struct bench_plan *plan = t->plan;
    struct bench_column columns[TRANSFER_COLUMNS] = {{0}};
    char what[64];
    const struct bench_timed timed = {.what = what,
                                      .bytes = t->bytes,
                                      .with = run,
                                      .prepare = transfer_prepare,
                                      .call = transfer_once,
                                      .check = transfer_right};
    snprintf(what, sizeof what, "%s, %zu bytes", t->row->name, t->bytes);
    if (t->what->fresh &&
        !transfer_fresh(&(struct transfer_fresh){&run->t, &run->memory, run->used, transfer_once, run}))
        return 0;
    for (int c = 0; c < TRANSFER_COLUMNS; c++) {
        const int way = c % TRANSFER_WAYS;
        if (!run->used[way] || (c >= TRANSFER_WAYS && !t->what->nonblocking))
            continue;
        columns[c] = (struct bench_column){.name = transfer_way_name(way)};
        transfer_prepare(run, c, 0, 1);
        bench_column_plan(plan, &timed, &columns[c], c, 2);
        run->sum[way] = (struct transfer_sums){0}; /* of calls that may have been the first */
    }
    for (int way = 0; way < TRANSFER_WAYS; way++)
        transfer_parts_open(&run->sum[way], &columns[TRANSFER_WAYS + way]);
    const int right = bench_columns_run(plan, &timed, columns, TRANSFER_COLUMNS);
    if (right) {
        bench_say(plan, "row %zu %ld", t->bytes, columns[TRANSFER_WAY_TUTTI].iterations * t->loops);
        transfer_say_how(run);
        transfer_say_times(run, columns);
        bench_say(plan, "done");
        if (t->what->steps) {
            transfer_say_steps(run);
            transfer_say_counts(run);
        }
    }
    for (int way = 0; way < TRANSFER_WAYS; way++)
        bench_columns_free(run->sum[way].part, TRANSFER_PARTS);
    bench_columns_free(columns, TRANSFER_COLUMNS);
    return right;
}

/* ---- stream order ---- */

static void transfer_enqueue(void *with, int way, int i)
{
    const struct transfer_run *run = with;
    const struct transfer *t = &run->t;
    const struct transfer_buffers b = transfer_buffers_of(&run->memory, way);
    (void)i;
    if (transfer_is_nccl(way))
        t->row->nccl(t, way == TRANSFER_WAY_NCCL_CE ? BENCH_NCCL_ENGINES : BENCH_NCCL_USUAL, &b);
    else
        transfer_must(t, way, t->row->enqueue(t, &b));
}

static void transfer_prepare_round(void *with, int way, int round, int checked)
{
    struct transfer_run *run = with;
    transfer_fill(&run->t, &run->memory, way, transfer_seed(&run->t, way, checked ? round : 0), checked);
}

static int transfer_right_round(void *with, int way, int round, int last)
{
    (void)last;
    return transfer_right(with, way, round);
}

static int transfer_measure_ordered(struct transfer_run *run)
{
    const struct transfer *t = &run->t;
    struct bench_ordered_column columns[TRANSFER_WAYS] = {{0}};
    char what[64], counted[48], how[128];
    int accelerated;
    const struct bench_ordered ordered = {.plan = t->plan,
                                          .what = what,
                                          .bytes = t->bytes,
                                          .with = run,
                                          .prepare = transfer_prepare_round,
                                          .enqueue = transfer_enqueue,
                                          .check = transfer_right_round};
    snprintf(what, sizeof what, "%s, %zu bytes", t->row->name, t->bytes);
    snprintf(counted, sizeof counted, "_%s", t->row->call);
    bench_outcome_begin();
    transfer_enqueue(run, TRANSFER_WAY_TUTTI, 0);
    bench_gpu_sync();
    bench_outcome_end(counted, how, sizeof how, &accelerated);
    for (int way = 0; way < TRANSFER_WAYS; way++) {
        columns[way].name = run->used[way] ? transfer_way_name(way) : NULL;
        columns[way].in_graph = t->plan->order == BENCH_GRAPH && way != TRANSFER_WAY_NCCL;
    }
    const int right = bench_ordered_run(&ordered, columns, TRANSFER_WAYS);
    if (right) {
        const struct bench_ordered_column *own = &columns[TRANSFER_WAY_TUTTI];
        for (int way = 0; way < TRANSFER_WAYS && t->what->id == TRANSFER_LATENCY; way++) {
            for (int round = 0; round < columns[way].rounds; round++)
                columns[way].time[round] /= 2; /* of a round trip */
        }
        bench_say(t->plan, "row %zu %ld", t->bytes, (long)own->calls * own->replays * own->rounds);
        bench_say(t->plan, "how %s", how);
        for (int way = 0; way < TRANSFER_WAYS; way++) {
            if (columns[way].name)
                bench_ordered_say(t->plan, &columns[way]);
        }
        bench_say(t->plan, "done");
    }
    return right;
}

/* ---- joules ---- */

static void transfer_make(void *with, int way)
{
    transfer_take_rules(way);
    transfer_start(with, way, NULL);
    transfer_finish(with, way, NULL);
}

static int transfer_measure_energy(struct transfer_run *run)
{
    return transfer_energy(&(struct transfer_energy){.t = &run->t,
                                                     .used = run->used,
                                                     .with = run,
                                                     .prepare = transfer_prepare,
                                                     .call = transfer_make,
                                                     .enqueue = transfer_enqueue,
                                                     .check = transfer_right});
}

void bench_transfer(struct bench_plan *plan, const struct transfer_plan *what)
{
    static struct transfer_run run;
    int right = 1;
    if (!bench_mpi.preloaded)
        bench_fail("libtutti.so is not in front of the MPI: start this with `tutti bench`");
    run.t = (struct transfer){.plan = plan, .what = what, .row = &transfer_rows[what->id]};
    bench_say(plan, "nodes %d", plan->nodes);
    bench_energy_open(plan);
    bench_choose_gpu(plan);
    transfer_open(&run.t, &run.memory, run.used);
    bench_say(plan, "start");
    for (int i = 0; right && i < plan->n_sizes; i++) {
        transfer_size(&run.t, &run.memory, plan->sizes[i]);
        right = plan->energy.trials         ? transfer_measure_energy(&run)
                : plan->order == BENCH_HOST ? transfer_measure(&run)
                                            : transfer_measure_ordered(&run);
    }
    transfer_close(&run.t, &run.memory);
    bench_energy_close(plan);
    bench_say(plan, "end %d", right);
}
