/* Arguments of reductions that no kernel takes, or that the MPI refuses. */
#include "mpi/real/handles.h"
#include "mpi/reduce/reduction.h"

const char *tutti_not_reducible(const struct tutti_type_row *type, int operation)
{
    const enum tutti_reason reason = operation == TUTTI_OP_NONE ? TUTTI_REASON_USER_OP
                                     : type                     ? TUTTI_REASON_ILLEGAL
                                                                : TUTTI_REASON_NO_KERNEL;
    return tutti_reasons[reason].text;
}

int tutti_alias_of_call_is_refused(const struct tutti_reduction_args *args)
{
    int inter = 0, rank = -1;
    const int none = args->collective != TUTTI_COLLECTIVE_REDUCE_SCATTER && args->count <= 0;
    if (args->sendbuf != args->recvbuf || args->sendbuf == MPI_IN_PLACE || !args->sendbuf || none ||
        args->comm == tutti_handles.no_comm || tutti_next.MPI_Comm_test_inter(args->comm, &inter) != MPI_SUCCESS ||
        inter)
        return 0;
    if (args->collective == TUTTI_COLLECTIVE_REDUCE &&
        (tutti_next.MPI_Comm_rank(args->comm, &rank) != MPI_SUCCESS || rank != args->root))
        return 0;
    return tutti_alias_is_refused(args->collective, args->count);
}
