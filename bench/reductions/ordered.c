/* Reductions in stream order (bench/common/ordered.h). */
#include "bench/common/ordered.h"

#include <stdio.h>

#include "bench/common/gpu.h"
#include "bench/reductions/enqueue.h"
#include "bench/reductions/nccl.h"
#include "bench/reductions/order.h"

struct ordered {
    const struct bench_plan *plan;
    struct bench_ways *ways;
};

static void ordered_enqueue(void *with, int way, int i)
{
    const struct ordered *o = with;
    struct bench_call *call = bench_way_calls(o->ways, way);
    const struct bench_set *set = bench_way_set(o->ways, way);
    if (o->plan->root == BENCH_ALL_ROOTS)
        call->root = i % o->plan->size;
    if (way >= BENCH_NCCL && way <= BENCH_NCCL_SYM32)
        bench_nccl_enqueue(call, set->in, set->out, bench_gpu_stream(),
                           way == BENCH_NCCL_SYM32 ? BENCH_NCCL_32_CTAS : BENCH_NCCL_USUAL);
    else
        bench_enqueue(call, set->in, set->out);
}

static uint64_t ordered_seed(const struct ordered *o, int way, int round)
{
    const size_t bytes = o->ways->bytes;
    return o->plan->seed + (bytes <= BENCH_CHECK_FULL ? bytes * 31 + (uint64_t)round * 7 + (uint64_t)way : 0);
}

static void ordered_prepare(void *with, int way, int round, int checked)
{
    const struct ordered *o = with;
    bench_way_prepare(o->plan, o->ways, way, checked ? ordered_seed(o, way, round) : o->plan->seed);
    if (checked)
        bench_way_spoil(o->plan, o->ways, way);
}

static void ordered_restore(void *with, int way)
{
    const struct ordered *o = with;
    bench_way_restore(o->plan, o->ways, way);
}

static int ordered_check(void *with, int way, int round, int last)
{
    const struct ordered *o = with;
    if (o->plan->root == BENCH_ALL_ROOTS)
        bench_way_calls(o->ways, way)->root = last % o->plan->size;
    return bench_way_check(o->plan, o->ways, way, ordered_seed(o, way, round),
                           way == BENCH_TUTTI || way == BENCH_REFERENCE);
}

static struct bench_ordered ordered_of(struct ordered *o, const char *what)
{
    return (struct bench_ordered){.plan = o->plan,
                                  .what = what,
                                  .bytes = o->ways->bytes,
                                  .single = o->plan->in_place,
                                  .with = o,
                                  .prepare = ordered_prepare,
                                  .enqueue = ordered_enqueue,
                                  .restore = ordered_restore,
                                  .check = ordered_check};
}

int bench_run_ordered(const struct bench_plan *plan, struct bench_ways *ways)
{
    static struct bench_ordered_column column[BENCH_WAYS];
    char algorithm[96], what[32];
    int accelerated;
    struct ordered with = {plan, ways};
    const struct bench_ordered ordered = ordered_of(&with, what);
    snprintf(what, sizeof what, "%zu bytes", ways->bytes);
    bench_find_algorithm(plan, ways, algorithm, sizeof algorithm, &accelerated);
    for (int way = 0; way < BENCH_WAYS; way++)
        column[way] = (struct bench_ordered_column){.name = ways->used[way] ? bench_way_name(way) : NULL,
                                                    .in_graph = plan->order == BENCH_GRAPH && way != BENCH_NCCL};
    const int right = bench_ordered_run(&ordered, column, BENCH_WAYS);
    if (right) {
        bench_say_row(plan, ways,
                      (long)column[BENCH_TUTTI].calls * column[BENCH_TUTTI].replays * column[BENCH_TUTTI].rounds,
                      algorithm);
        for (int way = 0; way < BENCH_WAYS; way++) {
            if (ways->used[way])
                bench_ordered_say(plan, &column[way]);
        }
        bench_say(plan, "done");
    }
    return right;
}

double bench_ordered_time(const struct bench_plan *plan, struct bench_ways *ways)
{
    struct bench_plan as = *plan;
    as.order = bench_gpu_has_graphs() ? BENCH_GRAPH : BENCH_STREAM;
    as.iterations = 0;
    struct ordered with = {&as, ways};
    const struct bench_ordered ordered = ordered_of(&with, "");
    struct bench_ordered_column column = {.name = bench_way_name(BENCH_TUTTI), .in_graph = as.order == BENCH_GRAPH};
    return bench_ordered_median(&ordered, &column, BENCH_TUTTI);
}
