/* A message of device memory by way of host memory. */
#include "core/log.h"
#include "mpi/bounce/stage.h"
#include "mpi/message/requests.h"
#include "mpi/real/errors.h"
#include "mpi/request/request.h"

struct staged {
    struct tutti_stage stage;
};

static struct staged *of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct staged, entry);
}

static int failed(MPI_Comm comm, int status)
{
    tutti_error("staging device memory of a nonblocking call failed: %s", tutti_status_text(status));
    return tutti_fail_comm(comm, tutti_error_code(status));
}

int tutti_staged_out(struct tutti_stage *stage, MPI_Comm comm, const MPI_Status *status)
{
    if (!stage->staged || !(stage->way & TUTTI_STAGE_OUT) || tutti_was_cancelled(status))
        return MPI_SUCCESS;
    int done = tutti_stage_out(stage, tutti_received(status));
    return done == TUTTI_OK ? MPI_SUCCESS : failed(comm, done);
}

int tutti_staged_in(struct tutti_stage *stage, MPI_Comm comm)
{
    int done = tutti_stage_in(stage);
    return done == TUTTI_OK ? MPI_SUCCESS : failed(comm, done);
}

static int prepare(struct tutti_request *entry)
{
    return tutti_staged_in(&of(entry)->stage, entry->comm);
}

static int deliver(struct tutti_request *entry, MPI_Status *status)
{
    if (entry->delivered)
        return MPI_SUCCESS;
    int code = tutti_staged_out(&of(entry)->stage, entry->comm, status);
    entry->delivered = code == MPI_SUCCESS;
    return code;
}

static void close(struct tutti_request *entry)
{
    tutti_stage_close(&of(entry)->stage);
}

static const struct tutti_request_kind staged = {
    .name = "staged message", .prepare = prepare, .deliver = deliver, .close = close};

struct tutti_request *tutti_staged_entry(MPI_Comm comm, const struct tutti_stage *stage, int persistent)
{
    struct tutti_request *entry = tutti_request_new(&staged, tutti_handles.no_request, comm);
    if (!entry)
        return NULL;
    of(entry)->stage = *stage;
    entry->persistent = persistent;
    return entry;
}
