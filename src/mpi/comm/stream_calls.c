#include "mpi/comm/stream_calls.h"

#include "core/log.h"
#include "mpi/real/errors.h"
#include "p2p/lanes.h"

const struct tutti_comm *tutti_stream_comm(const char *name, MPI_Comm comm, int *code)
{
    *code = MPI_ERR_UNSUPPORTED_OPERATION;
    if (unlikely(!tutti_door.on))
        return NULL;
    const struct tutti_comm *state = comm == tutti_handles.no_comm ? NULL : tutti_comm_find(comm);
    if (likely(state && state->stream)) {
        const char *why = "";
        int status = TUTTI_OK; /* the messages that were started before go first */
        if (state->lanes)
            status = tutti_lanes_flush(state->lanes, state->stream->stream, &why);
        if (likely(status == TUTTI_OK))
            return state;
        *code = status == TUTTI_ERR_UNAVAILABLE ? tutti_stream_refuse(name, comm, MPI_ERR_UNSUPPORTED_OPERATION, why)
                                                : tutti_stream_refuse_status(name, comm, status);
        return NULL;
    }
    tutti_error("%s: the communicator has no stream: make it by MPIX_Stream_comm_create", name);
    /* An invalid handle has no error handler. */
    *code = comm == tutti_handles.no_comm ? tutti_fail_self(MPI_ERR_COMM) : tutti_fail_comm(comm, MPI_ERR_COMM);
    return NULL;
}

int tutti_stream_refuse(const char *name, MPI_Comm comm, int code, const char *why)
{
    tutti_error("%s: %s", name, why);
    tutti_count(name, TUTTI_OUTCOME_REFUSED, why);
    return tutti_fail_comm(comm, code);
}

int tutti_stream_refuse_status(const char *name, MPI_Comm comm, int status)
{
    if (status == TUTTI_ERR_UNAVAILABLE)
        return tutti_stream_refuse(name, comm, MPI_ERR_UNSUPPORTED_OPERATION,
                                   "no algorithm can do this call in stream order: are they left out by TUTTI_RULES?");
    return tutti_stream_refuse(name, comm, tutti_error_code(status), tutti_status_text(status));
}

int tutti_stream_reaches(const struct tutti_mpix_stream *stream, const void *at)
{
    struct tutti_memory memory;
    tutti_door.device->memory.classify(at, &memory);
    if (memory.kind == TUTTI_MEMORY_HOST)
        return 0;
    return memory.kind != TUTTI_MEMORY_DEVICE || memory.gpu < 0 || stream->gpu < 0 || memory.gpu == stream->gpu;
}
