/* Which algorithm a call takes. */
#include <string.h>

#include "bench/common/gpu.h"
#include "bench/common/outcome.h"
#include "bench/reductions/enqueue.h"
#include "bench/reductions/order.h"
#include "core/types.h"

void bench_find_algorithm(const struct bench_plan *plan, struct bench_ways *ways, char *name, size_t size,
                          int *accelerated)
{
    const struct bench_set *set = bench_way_set(ways, BENCH_TUTTI);
    bench_way_prepare(plan, ways, BENCH_TUTTI, plan->seed);
    bench_outcome_begin();
    if (plan->order == BENCH_HOST) {
        bench_way_call(plan, ways, BENCH_TUTTI);
    } else {
        bench_enqueue(&ways->call, set->in, set->out);
        bench_gpu_sync();
    }
    bench_outcome_end(strchr(bench_call_name(&ways->call), '_'), name, size, accelerated);
}

void bench_say_row(const struct bench_plan *plan, const struct bench_ways *ways, long iterations, const char *algorithm)
{
    bench_say(plan, "row %zu %zu %ld %s", bench_call_bytes(&ways->call), ways->call.count, iterations, algorithm);
    if (!plan->pairs)
        return;
    bench_say(plan, "type %s", tutti_type_name(plan->type));
    bench_say(plan, "op %s", tutti_op_name(plan->op));
}
