/* Puts a call into Tutti's list of open calls, under a request of Tutti's own. */
#include "core/log.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/nonblocking.h"
#include "mpi/request/request.h"

struct of_open {
    struct tutti_open_call *open;
};

static struct tutti_open_call *open_request_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct of_open, entry)->open;
}

static int open_request_start(struct tutti_request *entry, MPI_Request *unused)
{
    struct tutti_open_call *open = open_request_of(entry);
    (void)unused;
    if (open->phase != TUTTI_OPEN_IDLE || !open->persistent) {
        tutti_error("%s: MPI_Start of a request that is active", open->args.name);
        return tutti_fail_comm(open->comm, MPI_ERR_REQUEST);
    }
    {
        TUTTI_INSIDE();
        MPI_Request request = open->request;
        int code = tutti_next.MPI_Start(&request);
        if (code != MPI_SUCCESS)
            return code;
    }
    tutti_open_call_start(open);
    return MPI_SUCCESS;
}

static int open_request_cancel(struct tutti_request *entry, MPI_Request *request)
{
    (void)request;
    tutti_error("MPI_Cancel: %s cannot be cancelled", open_request_of(entry)->args.name);
    return tutti_fail_comm(open_request_of(entry)->comm, MPI_ERR_REQUEST);
}

static int open_request_free(struct tutti_request *entry, MPI_Request *request)
{
    return tutti_open_call_free(open_request_of(entry), request);
}

static MPI_Comm *open_request_comm_at(struct tutti_request *entry)
{
    return &open_request_of(entry)->comm;
}

static int open_request_deliver(struct tutti_request *entry, MPI_Status *status)
{
    (void)status;
    return tutti_open_call_deliver(open_request_of(entry));
}

static void open_request_settle(struct tutti_request *entry)
{
    tutti_open_call_settle(open_request_of(entry));
}

static void open_request_close(struct tutti_request *entry)
{
    tutti_open_call_close(open_request_of(entry));
}

static const struct tutti_request_kind kind = {.name = "open call",
                                               .stays = 1,
                                               .comm = open_request_comm_at,
                                               .start = open_request_start,
                                               .cancel = open_request_cancel,
                                               .free = open_request_free,
                                               .deliver = open_request_deliver,
                                               .settle = open_request_settle,
                                               .close = open_request_close};

int tutti_open_call_put(MPI_Request request, struct tutti_open_call *open, int persistent)
{
    struct tutti_request *entry = tutti_request_new(&kind, request, tutti_handles.world);
    if (!entry)
        return TUTTI_ERR_MEMORY;
    TUTTI_REQUEST_OF(struct of_open, entry)->open = open;
    entry->persistent = persistent;
    return tutti_request_put(entry) == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_MEMORY;
}
