/* Joules of the calls of a grid (bench/common/energy.h). */
#include "bench/common/energy.h"

#include <stdio.h>

#include "bench/shmem/measure.h"
#include "tutti/shmem.h"

enum { GAS_NONE = -1 };
static const int grid_ways[ENERGY_WAYS] = {
#define ENERGY_WAY(id, name, reduction, transfer, grid, text) GAS_##grid,
#include "bench/words/energy_ways.def"
#undef ENERGY_WAY
};

struct grid_energy {
    struct gas_bench *bench;
    const struct gas_row *row;
    uint64_t seed; /* of the data in the heap */
    struct tshmem_state state;
};

static void grid_prepare(void *with, int way, int new_data)
{
    struct grid_energy *e = with;
    const struct bench_plan *plan = e->bench->plan;
    e->seed = plan->seed + e->row->bytes * 31 + (new_data ? (uint64_t)way + 1 : 0);
    if (gas_fill(e->bench, e->row, gas_side_of(grid_ways[way]), e->seed) != 0)
        bench_fail("rank %d cannot fill its heap", plan->rank);
}

/* One launch for all calls inside a kernel. */
static void grid_make(void *with, int way, long calls, double us)
{
    struct grid_energy *e = with;
    const int which = gas_side_of(grid_ways[way]);
    struct gas_call call = gas_call_of(e->bench, e->row, which, e->seed);
    (void)us;
    call.rounds = (unsigned)calls;
    call.state = &e->state;
    const double ns = grid_ways[way] == GAS_MPI ? gas_by_host(e->bench, e->row, GAS_MPI, call.rounds, &call)
                                                : e->bench->side[which].run(&call, e->row->blocks, e->row->threads, 60);
    if (ns < 0)
        bench_fail("rank %d: %s by %s failed", e->bench->plan->rank, e->row->name, gas_way_name(grid_ways[way]));
}

static int grid_check(void *with, int way)
{
    const struct grid_energy *e = with;
    const int right = gas_check(e->bench, e->row, gas_side_of(grid_ways[way]), e->seed, 1);
    return bench_all_agree(right) || gas_say_wrong(e->bench, e->row, grid_ways[way]);
}

int gas_energy(struct gas_bench *bench, const struct gas_row *row)
{
    const struct bench_plan *plan = bench->plan;
    struct grid_energy with = {.bench = bench, .row = row};
    struct bench_energy_calls calls = {.plan = plan,
                                       .bytes = row->bytes,
                                       .with = &with,
                                       .prepare = grid_prepare,
                                       .make = grid_make,
                                       .check = grid_check};
    gas_state(GAS_RING_NONE, &bench->cuts, &with.state);
    for (int way = 0; way < ENERGY_WAYS; way++) {
        const int by = grid_ways[way];
        const int known = by != GAS_NONE && row->ways >> by & 1 && bench->side[gas_side_of(by)].name;
        calls.used[way] = plan->energy.ways >> way & 1 && (way == ENERGY_IDLE || known);
    }
    return bench_energy_run(&calls);
}
