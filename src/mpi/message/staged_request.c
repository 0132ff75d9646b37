/* A staged message of device memory. */
#include "mpi/bounce/stage.h"
#include "mpi/message/counted.h"
#include "mpi/message/requests.h"
#include "mpi/real/errors.h"
#include "mpi/request/batch.h"
#include "mpi/request/request.h"

struct staged {
    const char *call;
    enum tutti_reason reason; /* of a send */
    int counted;              /* a receive: this time */
    struct tutti_stage stage;
};

static struct staged *staged_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct staged, entry);
}

int tutti_staged_out(struct tutti_stage *stage, MPI_Comm comm, const MPI_Status *status)
{
    if (!stage->staged || !(stage->way & TUTTI_STAGE_OUT) || tutti_was_cancelled(status))
        return MPI_SUCCESS;
    int done = tutti_stage_out(stage, tutti_received(status));
    return done == TUTTI_OK ? MPI_SUCCESS : tutti_stage_failed("a nonblocking call", comm, done);
}

int tutti_staged_in(struct tutti_stage *stage, MPI_Comm comm)
{
    int done = tutti_stage_in(stage);
    return done == TUTTI_OK ? MPI_SUCCESS : tutti_stage_failed("a nonblocking call", comm, done);
}

static int staged_prepare(struct tutti_request *entry)
{
    struct staged *staged = staged_of(entry);
    const int code = tutti_staged_in(&staged->stage, entry->comm);
    if (code == MPI_SUCCESS && staged->stage.way & TUTTI_STAGE_IN)
        tutti_count_send(staged->call, &staged->stage, staged->reason);
    staged->counted = 0;
    return code;
}

static void staged_count(struct tutti_request *entry, const MPI_Status *status, int code)
{
    struct staged *staged = staged_of(entry);
    if (!staged->counted && staged->stage.way & TUTTI_STAGE_OUT)
        tutti_count_receive(staged->call, NULL, &staged->stage, entry->comm, status, code);
    staged->counted = 1;
}

static int staged_fail(struct tutti_request *entry, MPI_Status *status, int code)
{
    if (code != MPI_ERR_PENDING)
        staged_count(entry, status, code);
    return code;
}

static int staged_arrived(struct tutti_request *entry, const MPI_Status *status, struct tutti_batch *batch)
{
    tutti_batch_keep(batch, entry, &staged_of(entry)->stage, status);
    return 0;
}

static int staged_deliver(struct tutti_request *entry, MPI_Status *status)
{
    const int code = entry->delivered ? MPI_SUCCESS : tutti_staged_out(&staged_of(entry)->stage, entry->comm, status);
    if (!tutti_was_cancelled(status))
        staged_count(entry, status, code);
    entry->delivered = code == MPI_SUCCESS;
    return code;
}

static void staged_close(struct tutti_request *entry)
{
    tutti_stage_close(&staged_of(entry)->stage);
}

static const struct tutti_request_kind staged = {.name = "staged message",
                                                 .prepare = staged_prepare,
                                                 .arrived = staged_arrived,
                                                 .deliver = staged_deliver,
                                                 .fail = staged_fail,
                                                 .close = staged_close};

struct tutti_request *tutti_staged_entry(MPI_Comm comm, const char *call, const struct tutti_stage *stage,
                                         int persistent)
{
    struct tutti_request *entry = tutti_request_new(&staged, tutti_handles.no_request, comm);
    if (!entry)
        return NULL;
    *staged_of(entry) = (struct staged){.call = call, .reason = TUTTI_REASON_CALL, .stage = *stage};
    entry->persistent = persistent;
    return entry;
}

void tutti_staged_because(struct tutti_request *entry, enum tutti_reason reason)
{
    staged_of(entry)->reason = reason;
}
