/* Persistent reductions, with every MPI: each request has a communicator of its own, over which every start makes
 * the nonblocking call. So the requests of a communicator may be started in any order, which may differ between
 * ranks. Making the request is collective, as MPI allows. */
#include "core/log.h"
#include "mpi/comm/clone.h"
#include "mpi/comm/comms.h"
#include "mpi/move/mover.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/nonblocking.h"

int tutti_persistent(const struct tutti_reduction_args *args, MPI_Request *request)
{
    struct tutti_reduction_args own = *args;
    if (args->comm != tutti_handles.no_comm)
        tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, args->comm);
    int code = tutti_comm_clone(args->comm, 0, &own.comm);
    if (code != MPI_SUCCESS)
        return code;
    tutti_comm_make(own.comm);
    struct tutti_open_call *open = tutti_open_call_new(&own, 1);
    if (!open) {
        tutti_error("%s: out of memory", args->name);
        return tutti_fail_comm(args->comm, MPI_ERR_NO_MEM);
    }
    open->comm = args->comm;
    *request = open->request;
    return MPI_SUCCESS;
}
