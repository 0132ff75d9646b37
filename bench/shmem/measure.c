#include "bench/shmem/measure.h"

#include <stdio.h>

#include "core/clock.h"
#include "tutti/shmem.h"

enum { SAMPLES = 5, ROUNDS_LEAST = 5, ROUNDS_MOST = 5000, HOST_ROUNDS_MOST = 200 };

static const char *const way_names[GAS_WAYS] = {
#define GAS_WAY(id, name, text) name,
#include "bench/words/gas_ways.def"
#undef GAS_WAY
};
static const char *const figure_names[GAS_FIGURES] = {
#define GAS_FIGURE(id, name, text, ...) name,
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
};

int gas_side_of(int way)
{
    return way == GAS_NVSHMEM ? GAS_SIDE_NVSHMEM : GAS_SIDE_TUTTI;
}

struct gas_call gas_call_of(const struct gas_bench *bench, const struct gas_row *row, int which, uint64_t seed)
{
    const struct gas_memory *memory = &bench->memory[which];
    return (struct gas_call){.operation = row->operation,
                             .strategy = row->strategy,
                             .team = bench->team[which],
                             .pe = row->operation == GAS_PINGPONG ? 1 - bench->plan->rank : row->target,
                             .me = bench->plan->rank,
                             .pes = row->pes,
                             .seed = gas_value(seed),
                             .stride = row->stride,
                             .bytes = row->bytes,
                             .in = memory->in,
                             .out = memory->out,
                             .part = memory->part,
                             .work = memory->work,
                             .work_bytes = memory->work_bytes};
}

uint64_t gas_seed_next(const struct bench_plan *plan)
{
    static uint64_t number;
    return plan->seed + ++number * 1000003;
}

double gas_by_host(struct gas_bench *bench, const struct gas_row *row, int way, unsigned rounds, struct gas_call *call)
{
    const uint64_t start = tutti_now_ns();
    const int n = (int)(row->bytes / sizeof(float));
    for (unsigned i = 0; i < rounds; i++) {
        if (way == GAS_ENGINE && row->operation == GAS_PUT)
            tshmem_putmem(call->in, call->out, row->bytes, row->target);
        else if (way == GAS_ENGINE && row->operation == GAS_FCOLLECT)
            tshmem_fcollectmem(call->team, call->in, call->out, row->bytes);
        else if (way == GAS_ENGINE && row->operation == GAS_BROADCAST)
            tshmem_broadcastmem(call->team, call->in, call->out, row->bytes, 0);
        else if (way == GAS_ENGINE)
            tshmem_getmem(call->in, call->out, row->bytes, row->target);
        else if (row->operation == GAS_REDUCE)
            MPI_Reduce(call->out, call->in, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (row->operation == GAS_ALLREDUCE)
            MPI_Allreduce(call->out, call->in, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        else {
            call->operation = GAS_PARTS;
            call->rounds = 1;
            if (bench->side[GAS_SIDE_TUTTI].run(call, row->blocks, row->threads, 30) < 0)
                return -1;
            MPI_Allreduce(MPI_IN_PLACE, call->in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    if (way == GAS_ENGINE)
        tshmem_quiet(); /* what goes to other nodes is under way */
    return (double)(tutti_now_ns() - start) / rounds;
}

static int takes_part(const struct gas_bench *bench, const struct gas_row *row)
{
    return bench->plan->rank < (row->target >= 0 ? 1 : row->pes);
}

static int asks_the_ring(const struct gas_row *row, int way)
{
    return way == GAS_RING || row->operation == GAS_RING_TRIP || row->operation == GAS_RING_RATE;
}

/* Microseconds of a round, of the slowest PE; with new data, which are looked at afterwards. */
static double row_sample(struct gas_bench *bench, const struct gas_row *row, int way, unsigned rounds, int *right)
{
    const uint64_t seed = gas_seed_next(bench->plan);
    const int which = gas_side_of(way);
    struct gas_call call = gas_call_of(bench, row, which, seed);
    struct tshmem_state state;
    double ns = 0;
    gas_state(asks_the_ring(row, way) ? GAS_RING_ALL
              : way == GAS_CUTOVER    ? GAS_RING_CUT
                                      : GAS_RING_NONE,
              &bench->cuts, &state);
    call.rounds = rounds;
    call.state = &state;
    if (gas_fill(bench, row, which, seed) != 0)
        bench_fail("rank %d cannot fill its heap", bench->plan->rank);
    if (takes_part(bench, row) || way == GAS_MPI)
        ns = way == GAS_ENGINE || way == GAS_MPI ? gas_by_host(bench, row, way, rounds, &call)
                                                 : bench->side[which].run(&call, row->blocks, row->threads, 30);
    if (ns < 0)
        bench_fail("rank %d: %s %s by %s failed", bench->plan->rank, figure_names[row->figure], row->name,
                   way_names[way]);
    if (which == GAS_SIDE_TUTTI && (tshmem_error() != 0 || *tshmem_state_get()->abort != 0))
        bench_fail("rank %d: %s %s: the address space is broken", bench->plan->rank, figure_names[row->figure],
                   row->name);
    const double us = bench_longest(ns / 1000);
    *right = !bench->plan->check || bench_all_agree(gas_check(bench, row, which, seed, rounds));
    return us;
}

/* As many rounds as fill the plan's time; all ranks alike, since `us` is. */
static unsigned rounds_of(const struct bench_plan *plan, int way, double us)
{
    const double most = way == GAS_ENGINE || way == GAS_MPI ? HOST_ROUNDS_MOST : ROUNDS_MOST;
    const double rounds = us > 0 ? plan->seconds * 1e6 / us : most;
    return rounds < ROUNDS_LEAST ? ROUNDS_LEAST : (unsigned)(rounds > most ? most : rounds);
}

void gas_say_row(const struct gas_bench *bench, const struct gas_row *row)
{
    const char *const to = row->operation == GAS_PINGPONG                                       ? "peer"
                           : row->operation == GAS_RING_TRIP || row->operation == GAS_RING_RATE ? "host"
                           : row->target < 0                                                    ? "team"
                           : row->target == bench->plan->rank                                   ? "same"
                                                                                                : "peer";
    bench_say(bench->plan, "row %u %u %d %zu %s %s %s", row->blocks, row->threads, row->pes, row->bytes,
              figure_names[row->figure], row->name, to);
}

int gas_say_wrong(struct gas_bench *bench, const struct gas_row *row, int way)
{
    char group[48] = "";
    if (row->blocks > 0)
        snprintf(group, sizeof group, ", %u blocks of %u threads", row->blocks, row->threads);
    bench_say(bench->plan, "wrong %s %s of %zu bytes by %s%s, seed %llu", figure_names[row->figure], row->name,
              row->bytes, way_names[way], group, (unsigned long long)bench->plan->seed);
    bench->right = 0;
    return 0;
}

const char *gas_way_name(int way)
{
    return way_names[way];
}

int gas_measure(struct gas_bench *bench, const struct gas_row *row)
{
    const struct bench_plan *plan = bench->plan;
    gas_say_row(bench, row);
    for (int way = 0; way < GAS_WAYS; way++) {
        const int samples = plan->iterations > 0 ? (int)plan->iterations : SAMPLES;
        double times[64];
        int right;
        if (!(row->ways >> way & 1) || !(plan->ways >> way & 1) || !bench->side[gas_side_of(way)].name)
            continue;
        double us = row_sample(bench, row, way, ROUNDS_LEAST, &right);
        const unsigned rounds = rounds_of(plan, way, us);
        for (int i = 0; right && i < samples && i < 64; i++)
            times[i] = row_sample(bench, row, way, rounds, &right);
        if (!right)
            return gas_say_wrong(bench, row, way);
        struct bench_figures figures = bench_figures_of(times, samples < 64 ? samples : 64);
        figures.iterations = (long)rounds * samples;
        bench_say_time(plan, way_names[way], 0, &figures);
    }
    bench_say(plan, "done");
    return 1;
}
