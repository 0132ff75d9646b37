#include "family.h"

#include <stdio.h>
#include <stdlib.h>

#include "kit.h"
#include "large_calls.h"
#include "real_mpi.h"

const char *const family_names[FAMILY_CALLS] = {
    "MPI_Allreduce", "MPI_Reduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
    "MPI_Scan",      "MPI_Exscan", "MPI_Reduce_local"};

int family_large(void)
{
    return MPI_Allreduce_c && MPI_Reduce_c && MPI_Reduce_scatter_c && MPI_Reduce_scatter_block_c && MPI_Scan_c &&
           MPI_Exscan_c && MPI_Reduce_local_c;
}

static int large(const struct family *f, const void *in, void *out)
{
    MPI_Count counts[64];
    int ranks = 0;
    switch (f->call) {
    case FAMILY_ALLREDUCE:
        return MPI_Allreduce_c(in, out, f->count, f->type, f->op, f->comm);
    case FAMILY_REDUCE:
        return MPI_Reduce_c(in, out, f->count, f->type, f->op, f->root, f->comm);
    case FAMILY_REDUCE_SCATTER:
        MPI_Comm_size(f->comm, &ranks);
        for (int r = 0; r < ranks && r < 64; r++)
            counts[r] = f->counts[r];
        return MPI_Reduce_scatter_c(in, out, counts, f->type, f->op, f->comm);
    case FAMILY_REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block_c(in, out, f->count, f->type, f->op, f->comm);
    case FAMILY_SCAN:
        return MPI_Scan_c(in, out, f->count, f->type, f->op, f->comm);
    case FAMILY_EXSCAN:
        return MPI_Exscan_c(in, out, f->count, f->type, f->op, f->comm);
    default:
        return MPI_Reduce_local_c(in, out, f->count, f->type, f->op);
    }
}

int family_run(const struct family *f, const void *in, void *out)
{
    if (f->large)
        return large(f, in, out);
    switch (f->call) {
    case FAMILY_ALLREDUCE:
        return MPI_Allreduce(in, out, f->count, f->type, f->op, f->comm);
    case FAMILY_REDUCE:
        return MPI_Reduce(in, out, f->count, f->type, f->op, f->root, f->comm);
    case FAMILY_REDUCE_SCATTER:
        return MPI_Reduce_scatter(in, out, f->counts, f->type, f->op, f->comm);
    case FAMILY_REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(in, out, f->count, f->type, f->op, f->comm);
    case FAMILY_SCAN:
        return MPI_Scan(in, out, f->count, f->type, f->op, f->comm);
    case FAMILY_EXSCAN:
        return MPI_Exscan(in, out, f->count, f->type, f->op, f->comm);
    default:
        return MPI_Reduce_local(in, out, f->count, f->type, f->op);
    }
}

int family_real(const struct family *f, const void *in, void *out)
{
    typedef int vector(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    typedef int rooted(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
    typedef int scattered(const void *, void *, const int[], MPI_Datatype, MPI_Op, MPI_Comm);
    typedef int local(const void *, void *, int, MPI_Datatype, MPI_Op);
    static void *real[FAMILY_CALLS];
    if (!real[f->call]) {
        char name[64];
        snprintf(name, sizeof name, "P%s", family_names[f->call]);
        real[f->call] = real_mpi_function(name);
    }
    union {
        void *any;
        vector *vector;
        rooted *rooted;
        scattered *scattered;
        local *local;
    } call = {real[f->call]};
    switch (f->call) {
    case FAMILY_REDUCE:
        return call.rooted(in, out, f->count, f->type, f->op, f->root, f->comm);
    case FAMILY_REDUCE_SCATTER:
        return call.scattered(in, out, f->counts, f->type, f->op, f->comm);
    case FAMILY_REDUCE_LOCAL:
        return call.local(in, out, f->count, f->type, f->op);
    default:
        return call.vector(in, out, f->count, f->type, f->op, f->comm);
    }
}

unsigned long long family_counted(enum family_call call, const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "%s_c", family_names[call]);
    return kit_counted(family_names[call], word) + kit_counted(name, word);
}
