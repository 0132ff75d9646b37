/* Joules of messages and data movers (bench/common/energy.h). */
#include "bench/common/energy.h"

#include "bench/transfer/ways.h"

enum { TRANSFER_WAY_NONE = -1 };
static const int transfer_ways[ENERGY_WAYS] = {
#define ENERGY_WAY(id, name, reduction, transfer, grid, text) TRANSFER_WAY_##transfer,
#include "bench/words/energy_ways.def"
#undef ENERGY_WAY
};

static void energy_prepare(void *with, int way, int new_data)
{
    const struct transfer_energy *e = with;
    e->prepare(e->with, transfer_ways[way], new_data ? way + 1 : 0, 1);
}

static void energy_enqueue(void *with, int way, int i)
{
    const struct transfer_energy *e = with;
    e->enqueue(e->with, transfer_ways[way], i);
}

static void energy_make(void *with, int way, long calls, double us)
{
    const struct transfer_energy *e = with;
    if (way == ENERGY_STREAM || (way == ENERGY_NCCL && e->t->row->group == TRANSFER_MOVERS)) {
        bench_energy_stream(with, way, calls, us, energy_enqueue);
        return;
    }
    for (long i = 0; i < calls; i++)
        e->call(e->with, transfer_ways[way]);
}

static int energy_right(void *with, int way)
{
    const struct transfer_energy *e = with;
    return e->check(e->with, transfer_ways[way], way + 1);
}

int transfer_energy(struct transfer_energy *e)
{
    const struct bench_plan *plan = e->t->plan;
    struct bench_energy_calls calls = {.plan = plan,
                                       .bytes = e->t->bytes,
                                       .with = e,
                                       .prepare = energy_prepare,
                                       .make = energy_make,
                                       .check = energy_right};
    for (int way = 0; way < ENERGY_WAYS; way++)
        calls.used[way] = plan->energy.ways >> way & 1 && (way == ENERGY_IDLE || e->used[transfer_ways[way]]) &&
                          (way != ENERGY_STREAM || e->t->row->enqueue);
    return bench_energy_run(&calls);
}
