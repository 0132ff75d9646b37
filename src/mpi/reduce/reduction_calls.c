/* The MPI's own reductions, blocking and nonblocking. */
#include "mpi/real/collective_args.h"
#include "mpi/reduce/reduction.h"

#define WIDTHS_OF "mpi/reduce/reduction_calls.inc"
#include "mpi/real/widths.inc"

int tutti_reduction_real(const struct tutti_reduction_args *args, const void *sendbuf, void *recvbuf)
{
    tutti_found_end();
    return args->large ? tutti_door_real_reduction_c(args, sendbuf, recvbuf)
                       : tutti_door_real_reduction(args, sendbuf, recvbuf);
}

int tutti_ireduction_real(const struct tutti_reduction_args *args, const void *sendbuf, void *recvbuf,
                          MPI_Request *request)
{
    tutti_found_end();
    return args->large ? tutti_door_real_ireduction_c(args, sendbuf, recvbuf, request)
                       : tutti_door_real_ireduction(args, sendbuf, recvbuf, request);
}
