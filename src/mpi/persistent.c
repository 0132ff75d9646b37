/* Persistent reductions, whatever the MPI has: each request has a communicator of its own, over which every start makes
 * the nonblocking call. So requests of one communicator may be started in any order, another on each rank, as MPI has
 * it. Making it takes all ranks, which the MPI allows to the calls that make persistent collectives. */
#include "core/log.h"
#include "mpi/nonblocking.h"
#include "mpi/requests.h"

int tutti_persistent(const struct tutti_asked *asked, MPI_Request *request)
{
    struct tutti_asked own = *asked;
    int code, rank;
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

int tutti_persistent_start(struct tutti_open *open)
{
    if (open->phase != TUTTI_OPEN_IDLE || !open->persistent) {
        tutti_error("%s: MPI_Start of a request that is active", open->asked.name);
        return tutti_fail_comm(open->comm, MPI_ERR_REQUEST);
    }
    {
        TUTTI_INSIDE();
        MPI_Request request = open->request;
        int code = tutti_real.MPI_Start(&request);
        if (code != MPI_SUCCESS)
            return code;
    }
    tutti_open_start(open);
    return MPI_SUCCESS;
}

int tutti_door_MPI_Start(MPI_Request *request)
{
    struct tutti_pending *pending =
        tutti_pending_none() || tutti_inside || !request ? NULL : tutti_pending_see(*request);
    if (likely(!pending || (!pending->open && !pending->persistent)))
        return tutti_real.MPI_Start(request);
    return pending->open ? tutti_persistent_start(pending->open) : tutti_pending_start(pending, request);
}

int tutti_door_MPI_Startall(int count, MPI_Request array_of_requests[])
{
    int ours = 0, result = MPI_SUCCESS;
    if (likely(tutti_pending_none() || tutti_inside))
        return tutti_real.MPI_Startall(count, array_of_requests);
    for (int i = 0; i < count && array_of_requests; i++) {
        const struct tutti_pending *pending = tutti_pending_see(array_of_requests[i]);
        ours |= pending && (pending->open || pending->persistent);
    }
    if (!ours)
        return tutti_real.MPI_Startall(count, array_of_requests);
    for (int i = 0; i < count; i++) {
        int code = tutti_door_MPI_Start(&array_of_requests[i]);
        result = result == MPI_SUCCESS ? code : result;
    }
    return result;
}

int tutti_door_MPI_Cancel(MPI_Request *request)
{
    const struct tutti_pending *pending =
        tutti_pending_none() || tutti_inside || !request ? NULL : tutti_pending_see(*request);
    if (pending && (pending->sent || pending->far)) /* as good as gone: it completes as sent */
        return MPI_SUCCESS;
    if (pending && pending->joint)
        return tutti_joint_cancel(pending->joint);
    if (likely(!pending || !pending->open))
        return tutti_real.MPI_Cancel(request);
    tutti_error("MPI_Cancel: %s cannot be cancelled", pending->open->asked.name);
    return tutti_fail_comm(pending->open->comm, MPI_ERR_REQUEST);
}
