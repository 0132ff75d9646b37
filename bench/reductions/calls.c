#include "bench/reductions/calls.h"

#include <stdlib.h>
#include <string.h>

#include "bench/reductions/types.h"
#include "core/types.h"
#include "team/control.h"

static int collective_scatters(int collective)
{
    return collective == TUTTI_COLLECTIVE_REDUCE_SCATTER || collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK;
}

void bench_call_make(const struct bench_plan *plan, int type, int op, size_t bytes, struct bench_call *out)
{
    int *counts = out->counts;
    size_t count = bytes / tutti_type_size(type), ranks = (size_t)plan->size;
    if (collective_scatters(plan->collective))
        count = (count < ranks ? 1 : count / ranks) * ranks;
    *out = (struct bench_call){
        .collective = plan->collective,
        .type = type,
        .op = op,
        .mpi_type = bench_mpi_type(type),
        .mpi_op = bench_mpi_op(op),
        .count = count,
        .in_place = plan->in_place,
        .root = plan->root == BENCH_ALL_ROOTS ? 0 : plan->root,
        .rank = plan->rank,
        .ranks = plan->size,
    };
    if (plan->collective != TUTTI_COLLECTIVE_REDUCE_SCATTER)
        return;
    counts = realloc(counts, ranks * sizeof *counts);
    if (!counts)
        bench_fail("out of memory");
    for (size_t r = 0; r < ranks; r++)
        counts[r] = (int)(count / ranks);
    out->counts = counts;
}

struct bench_part bench_part_of(const struct bench_call *call)
{
    struct bench_part part = {0, call->count, call->ranks};
    if (collective_scatters(call->collective)) {
        part.count = call->count / (size_t)call->ranks;
        part.begin = part.count * (size_t)call->rank;
    } else if (call->collective == TUTTI_COLLECTIVE_REDUCE && call->rank != call->root) {
        part.count = 0;
    } else if (call->collective == TUTTI_COLLECTIVE_SCAN) {
        part.depth = call->rank + 1;
    } else if (call->collective == TUTTI_COLLECTIVE_EXSCAN) {
        part.depth = call->rank;
        if (call->rank == 0)
            part.count = 0;
    }
    return part;
}

int bench_in_place_here(const struct bench_call *call)
{
    return call->in_place && (call->collective != TUTTI_COLLECTIVE_REDUCE || call->rank == call->root);
}

size_t bench_call_bytes(const struct bench_call *call)
{
    return call->count * tutti_type_size(call->type);
}

const char *bench_call_name(const struct bench_call *call)
{
    static const char *const names[TUTTI_COLLECTIVES] = {
#define TUTTI_COLLECTIVE(id, name) name,
#include "tutti/collectives.def"
#undef TUTTI_COLLECTIVE
    };
    return names[call->collective];
}

void bench_call_mpi(const struct bench_call *call, const void *in, void *out, int plain)
{
    int n = (int)call->count, segment = n / call->ranks, error = MPI_SUCCESS;
    const void *from = bench_in_place_here(call) ? MPI_IN_PLACE : in;
    MPI_Datatype type = call->mpi_type;
    MPI_Op op = call->mpi_op;
#define DO(name, ...) error = plain ? bench_mpi.name(__VA_ARGS__) : MPI_##name(__VA_ARGS__)
    switch (call->collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
        DO(Allreduce, from, out, n, type, op, MPI_COMM_WORLD);
        break;
    case TUTTI_COLLECTIVE_REDUCE:
        DO(Reduce, from, out, n, type, op, call->root, MPI_COMM_WORLD);
        break;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
        DO(Reduce_scatter, from, out, call->counts, type, op, MPI_COMM_WORLD);
        break;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        DO(Reduce_scatter_block, from, out, segment, type, op, MPI_COMM_WORLD);
        break;
    case TUTTI_COLLECTIVE_SCAN:
        DO(Scan, from, out, n, type, op, MPI_COMM_WORLD);
        break;
    case TUTTI_COLLECTIVE_EXSCAN:
        DO(Exscan, from, out, n, type, op, MPI_COMM_WORLD);
        break;
    }
#undef DO
    if (error != MPI_SUCCESS)
        bench_fail("%s (%s) failed with error %d", bench_call_name(call), plain ? "of the MPI itself" : "tutti", error);
}
