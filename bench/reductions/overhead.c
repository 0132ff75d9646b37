/* What the library costs a program that never touches device memory: many small calls on host memory, timed as one. */
#include "bench/common/bench.h"

#include "bench/reductions/run.h"
#include "core/clock.h"

void bench_overhead(struct bench_plan *plan)
{
    double in = plan->rank + 1, out = 0, expected = (double)plan->size * (plan->size + 1) / 2;
    for (long i = 0; i < plan->warm_up; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t start = tutti_now_ns();
    for (long i = 0; i < plan->iterations; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double mine = (double)(tutti_now_ns() - start) * 1e-9, longest = 0;
    if (out != expected)
        bench_fail("rank %d: the sum is %g, right is %g", plan->rank, out, expected);
    bench_mpi.Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    bench_say(plan, "overhead %.9f %d", longest, bench_mpi.preloaded);
}
