/* Which algorithm a call takes. */
#include <string.h>

#include "bench/common/gpu.h"
#include "bench/common/outcome.h"
#include "bench/reductions/enqueue.h"
#include "bench/reductions/order.h"

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
