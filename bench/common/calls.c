#include "bench/common/calls.h"

void bench_calls_linked(struct bench_calls *out)
{
#define LINKED(name) out->name = MPI_##name;
    BENCH_CALLS(LINKED)
#undef LINKED
}

void bench_calls_own(struct bench_calls *out)
{
#define OWN(name)                                                                                                      \
    *(void **)(void *)&out->name = bench_mpi_symbol("PMPI_" #name);                                                    \
    if (!out->name)                                                                                                    \
        bench_fail("this MPI lacks MPI_" #name);
    BENCH_CALLS(OWN)
#undef OWN
}
