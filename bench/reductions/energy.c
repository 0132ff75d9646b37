/* Joules of reductions (bench/common/energy.h). */
#include "bench/common/energy.h"

#include "bench/common/gpu.h"
#include "bench/reductions/data.h"
#include "bench/reductions/enqueue.h"
#include "bench/reductions/nccl.h"
#include "bench/reductions/order.h"

enum { BENCH_NONE = -1 };
static const int reduction_ways[ENERGY_WAYS] = {
#define ENERGY_WAY(id, name, reduction, transfer, grid, text) BENCH_##reduction,
#include "bench/words/energy_ways.def"
#undef ENERGY_WAY
};

struct reduction_energy {
    const struct bench_plan *plan;
    struct bench_ways *ways;
    int accelerated;
};

static uint64_t reduction_seed(const struct reduction_energy *e, int way)
{
    const size_t bytes = e->ways->bytes;
    return e->plan->seed + (bytes <= BENCH_CHECK_FULL ? bytes * 31 + (uint64_t)way + 1 : 0);
}

static void reduction_prepare(void *with, int way, int new_data)
{
    const struct reduction_energy *e = with;
    bench_way_prepare(e->plan, e->ways, reduction_ways[way], new_data ? reduction_seed(e, way) : e->plan->seed);
    if (new_data)
        bench_way_spoil(e->plan, e->ways, reduction_ways[way]);
}

static void reduction_enqueue(void *with, int way, int i)
{
    const struct reduction_energy *e = with;
    const struct bench_call *call = bench_way_calls(e->ways, reduction_ways[way]);
    const struct bench_set *set = bench_way_set(e->ways, reduction_ways[way]);
    (void)i;
    if (way == ENERGY_NCCL)
        bench_nccl_enqueue(call, set->in, set->out, bench_gpu_stream(), BENCH_NCCL_USUAL);
    else
        bench_enqueue(call, set->in, set->out);
}

static void reduction_make(void *with, int way, long calls, double us)
{
    const struct reduction_energy *e = with;
    if (way == ENERGY_STREAM || way == ENERGY_NCCL) {
        bench_energy_stream(with, way, calls, us, reduction_enqueue);
        return;
    }
    for (long i = 0; i < calls; i++)
        bench_way_call(e->plan, e->ways, reduction_ways[way]);
}

static int reduction_check(void *with, int way)
{
    const struct reduction_energy *e = with;
    const int own = reduction_ways[way] == BENCH_TUTTI;
    return bench_way_check(e->plan, e->ways, reduction_ways[way], reduction_seed(e, way), own && e->accelerated);
}

int bench_run_energy(const struct bench_plan *plan, struct bench_ways *ways)
{
    char algorithm[96];
    struct reduction_energy with = {.plan = plan, .ways = ways};
    struct bench_energy_calls calls = {.plan = plan,
                                       .bytes = ways->bytes,
                                       .with = &with,
                                       .prepare = reduction_prepare,
                                       .make = reduction_make,
                                       .check = reduction_check};
    for (int way = 0; way < ENERGY_WAYS; way++)
        calls.used[way] = plan->energy.ways >> way & 1 && (way == ENERGY_IDLE || ways->used[reduction_ways[way]]) &&
                          (way != ENERGY_STREAM || ways->ordered);
    bench_find_algorithm(plan, ways, algorithm, sizeof algorithm, &with.accelerated);
    bench_say(plan, "algorithm %s", algorithm);
    return bench_energy_run(&calls);
}
