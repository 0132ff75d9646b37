/* Persistent reductions, whatever the MPI has: each request has a communicator of its own, over which every start makes
 * the nonblocking call. So requests of one communicator may be started in any order, another on each rank, as MPI has
 * it. Making it takes all ranks, which the MPI allows to the calls that make persistent collectives. */
#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/move/moved.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/nonblocking.h"

int tutti_persistent(const struct tutti_asked *asked, MPI_Request *request)
{
    struct tutti_asked own = *asked;
    int code, rank;
    if (asked->comm != tutti_handles.no_comm)
        tutti_moved_pass(TUTTI_COLLECTIVE_MEETING, 0, asked->comm);
    {
        TUTTI_INSIDE();
        /* Not a duplicate: attributes of the program stay with its communicator. */
        code = tutti_real.MPI_Comm_rank(asked->comm, &rank);
        if (code == MPI_SUCCESS)
            code = tutti_real.MPI_Comm_split(asked->comm, 0, rank, &own.comm);
    }
    if (code != MPI_SUCCESS)
        return code;
    tutti_comm_make(own.comm);
    struct tutti_open *open = tutti_open_new(&own, 1);
    if (!open) {
        tutti_error("%s: out of memory", asked->name);
        return tutti_fail_comm(asked->comm, MPI_ERR_NO_MEM);
    }
    open->comm = asked->comm;
    *request = open->request;
    return MPI_SUCCESS;
}
