/* The MPI's own nonblocking reductions. */
#include "mpi/reduce/nonblocking.h"

int tutti_nonblocking_real(const struct tutti_reduction_args *a, const void *sendbuf, void *recvbuf,
                           MPI_Request *request)
{
#define REAL(call, count, ...)                                                                                         \
    (a->large ? tutti_next.call##_c(sendbuf, recvbuf, count, __VA_ARGS__, request)                                     \
              : tutti_next.call(sendbuf, recvbuf, (int)(count), __VA_ARGS__, request))
    switch (a->collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
        return REAL(MPI_Iallreduce, a->count, a->datatype, a->op, a->comm);
    case TUTTI_COLLECTIVE_REDUCE:
        return REAL(MPI_Ireduce, a->count, a->datatype, a->op, a->root, a->comm);
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
        return a->large ? tutti_next.MPI_Ireduce_scatter_c(sendbuf, recvbuf, a->recvcounts, a->datatype, a->op, a->comm,
                                                           request)
                        : tutti_next.MPI_Ireduce_scatter(sendbuf, recvbuf, a->recvcounts, a->datatype, a->op, a->comm,
                                                         request);
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return REAL(MPI_Ireduce_scatter_block, a->count, a->datatype, a->op, a->comm);
    case TUTTI_COLLECTIVE_SCAN:
        return REAL(MPI_Iscan, a->count, a->datatype, a->op, a->comm);
    case TUTTI_COLLECTIVE_EXSCAN:
        return REAL(MPI_Iexscan, a->count, a->datatype, a->op, a->comm);
    default:
        return MPI_ERR_INTERN;
    }
#undef REAL
}
