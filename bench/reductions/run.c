/* A whole run: every pair of type and operator, every size. */
#include <string.h>

#include "bench/common/energy.h"
#include "bench/reductions/order.h"
#include "bench/reductions/run.h"
#include "bench/reductions/types.h"
#include "core/types.h"

static int run_size(const struct bench_plan *plan, struct bench_ways *ways, size_t bytes)
{
    bench_ways_size(plan, ways, bytes);
    if (plan->energy.trials)
        return bench_run_energy(plan, ways);
    if (plan->phases)
        return bench_run_phases(plan, ways);
    return plan->order == BENCH_HOST ? bench_run_blocking(plan, ways) : bench_run_ordered(plan, ways);
}

static int run_pairs(struct bench_plan *plan, struct bench_ways *ways, size_t bytes)
{
    int right = 1;
    for (plan->type = 0; plan->type < TUTTI_TYPES && right; plan->type++) {
        if (!(plan->types >> plan->type & 1))
            continue;
        if (bench_mpi_type(plan->type) == MPI_DATATYPE_NULL) {
            bench_say(plan, "skip %d", plan->type);
            continue;
        }
        for (plan->op = 0; plan->op < TUTTI_OPS && right; plan->op++) {
            if (!(plan->ops >> plan->op & 1) || !tutti_has_kernel(plan->type, plan->op))
                continue;
            right = run_size(plan, ways, bytes);
        }
    }
    return right;
}

/* 1 where the algorithm that was asked for takes the call of this size; otherwise says which does. */
static int ways_take(const struct bench_plan *plan, struct bench_ways *ways, size_t bytes)
{
    char name[96];
    int accelerated;
    bench_ways_size(plan, ways, bytes);
    bench_find_algorithm(plan, ways, name, sizeof name, &accelerated);
    if (bench_all_agree(strcmp(name, plan->algorithm) == 0))
        return 1;
    bench_say(plan, "refused %zu %d %d %s", bytes, plan->type, plan->op, name);
    return 0;
}

/* The library falls back on another algorithm where one cannot run: asked before anything is measured. */
static int all_take(struct bench_plan *plan, struct bench_ways *ways)
{
    const int type = plan->type, op = plan->op;
    int good = 1;
    for (int i = 0; i < plan->n_sizes && good; i++) {
        if (!plan->pairs)
            good = ways_take(plan, ways, plan->sizes[i]);
        for (plan->type = 0; plan->pairs && plan->type < TUTTI_TYPES && good; plan->type++) {
            for (plan->op = 0; plan->op < TUTTI_OPS && good; plan->op++) {
                if (plan->types >> plan->type & 1 && plan->ops >> plan->op & 1 &&
                    bench_mpi_type(plan->type) != MPI_DATATYPE_NULL && tutti_has_kernel(plan->type, plan->op))
                    good = ways_take(plan, ways, plan->sizes[i]);
            }
        }
        plan->type = type;
        plan->op = op;
    }
    return good;
}

void bench_collective(struct bench_plan *plan)
{
    static struct bench_ways ways;
    bench_say(plan, "nodes %d", plan->nodes);
    bench_energy_open(plan);
    bench_ways_open(plan, &ways);
    int right = !*plan->algorithm || all_take(plan, &ways);
    if (right)
        bench_say(plan, "start");
    for (int i = 0; right && i < plan->n_sizes; i++)
        right = plan->pairs ? run_pairs(plan, &ways, plan->sizes[i]) : run_size(plan, &ways, plan->sizes[i]);
    bench_ways_close(&ways);
    bench_energy_close(plan);
    bench_say(plan, "end %d", right);
}
