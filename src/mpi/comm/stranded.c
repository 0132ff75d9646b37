/* Ranks that wait in the MPI in a reduction that no other rank calls (team/stranded.h): this rank calls it too, with
 * zeros. */
#include <limits.h>
#include <stdlib.h>

#include "mpi/comm/comms.h"
#include "mpi/real/handles.h"

/* Any type of these elements that the MPI reduces by the operator. */
static const struct tutti_type_row *type_of(int type, int op)
{
    for (int i = 0; i < TUTTI_TYPE_SLOTS; i++) {
        const struct tutti_type_row *row = &tutti_type_table[i];
        if (row->used && row->type == type && row->host_ok && row->legal >> op & 1)
            return row;
    }
    return NULL;
}

static const struct tutti_op_row *stranded_op(int op)
{
    for (int i = 0; i < TUTTI_OP_SLOTS; i++) {
        if (tutti_op_table[i].used && tutti_op_table[i].op == op)
            return &tutti_op_table[i];
    }
    return NULL;
}

static void stranded_make(const struct tutti_arrival *call, int ranks, const void *in, void *out, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm)
{
    const MPI_Count n = (MPI_Count)call->count;
#define MAKE(name, count, ...)                                                                                         \
    ((count) > INT_MAX ? tutti_next.name##_c(in, out, count, __VA_ARGS__)                                              \
                       : tutti_next.name(in, out, (int)(count), __VA_ARGS__))
    switch (call->collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
        MAKE(MPI_Allreduce, n, type, op, comm);
        break;
    case TUTTI_COLLECTIVE_REDUCE:
        MAKE(MPI_Reduce, n, type, op, (int)call->detail, comm);
        break;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        MAKE(MPI_Reduce_scatter_block, n / ranks, type, op, comm);
        break;
    case TUTTI_COLLECTIVE_SCAN:
        MAKE(MPI_Scan, n, type, op, comm);
        break;
    case TUTTI_COLLECTIVE_EXSCAN:
        MAKE(MPI_Exscan, n, type, op, comm);
        break;
    default:
        break;
    }
#undef MAKE
}

void tutti_comm_release(void *with, struct tutti_team *team, const struct tutti_arrival *call, uint64_t in_mpi)
{
    const struct tutti_comm *comm = with;
    const struct tutti_op_row *op = stranded_op(call->op);
    const struct tutti_type_row *type = op ? type_of(call->type, call->op) : NULL;
    const size_t size = tutti_type_size(call->type);
    void *in = calloc(call->count, size), *out = calloc(call->count, size);
    const int able = type && in && out &&
                     (call->collective != TUTTI_COLLECTIVE_REDUCE || call->detail < (uint64_t)(unsigned)team->size);
    if (tutti_team_release(team, in_mpi, able)) {
        TUTTI_INSIDE();
        stranded_make(call, team->size, in, out, type->handle, op->handle, comm->handle);
    }
    free(in);
    free(out);
}
