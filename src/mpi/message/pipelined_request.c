/* The RTS of a send to another node, which the MPI sends; the schedule sends its fragments. */
#include "mpi/message/far.h"
#include "mpi/message/requests.h"
#include "mpi/request/request.h"

struct pipelined {
    struct tutti_far_rts *rts;
};

static struct pipelined *pipelined_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct pipelined, entry);
}

static int pipelined_start(struct tutti_request *entry, MPI_Request *request)
{
    return tutti_far_start(pipelined_of(entry)->rts, request);
}

static void pipelined_close(struct tutti_request *entry)
{
    tutti_far_release(pipelined_of(entry)->rts);
}

static const struct tutti_request_kind pipelined = {
    .name = "send to another node", .start = pipelined_start, .cancel = tutti_send_cancel, .close = pipelined_close};

int tutti_pipelined_put(MPI_Request request, MPI_Comm comm, struct tutti_far_rts *rts, int persistent)
{
    struct tutti_request *entry = tutti_request_new(&pipelined, request, comm);
    if (!entry)
        return tutti_request_lost(comm);
    pipelined_of(entry)->rts = rts;
    entry->persistent = persistent;
    return tutti_request_put(entry);
}

void tutti_pipelined_abandon(MPI_Request request, MPI_Comm comm, struct tutti_far_rts *rts)
{
    struct tutti_request *entry = tutti_request_new(&pipelined, request, comm);
    if (!entry)
        return; /* the RTS is lost, since it must not be reused while the MPI sends it. cppcheck-suppress memleak */
    pipelined_of(entry)->rts = rts;
    tutti_request_orphan(entry);
}
