#include "mpi/message/counted.h"

#include "mpi/real/errors.h"

/* The reason for which the message was not fetched, as far as its receiver knows it. */
static enum tutti_reason reason_of(MPI_Comm comm, const MPI_Status *status)
{
    if (!tutti_endpoint && !tutti_far_on)
        return tutti_endpoints_why(comm, status->MPI_SOURCE);
    if (tutti_endpoints_peer(comm, status->MPI_SOURCE) < 0)
        return TUTTI_REASON_MACHINE;
    return TUTTI_REASON_SENDER;
}

static void count_failure(const char *call, int code)
{
    int class = MPI_ERR_OTHER;
    tutti_next.MPI_Error_class(code, &class);
    tutti_count(call, TUTTI_OUTCOME_FAILED,
                class == MPI_ERR_TRUNCATE ? "message longer than the buffer" : "the message was not received");
}

void tutti_count_receive(const char *call, const struct tutti_recv_request *recv, const struct tutti_stage *stage,
                         MPI_Comm comm, const MPI_Status *status, int code)
{
    const int was_rts = recv && (recv->state == TUTTI_RECV_FETCHED || recv->state == TUTTI_RECV_FAILED);
    if (likely(!tutti_counting) || (!was_rts && !stage->staged))
        return;
    TUTTI_INSIDE();
    if (code == MPI_SUCCESS && status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    if (code != MPI_SUCCESS) {
        count_failure(call, code);
    } else if (was_rts && recv->core.came > 0) {
        const int waited = recv->core.met != 0 && !recv->core.demanded;
        tutti_count_received(call, TUTTI_OUTCOME_STAGED,
                             waited ? TUTTI_REASON_TEXT(UNMAPPED) : TUTTI_REASON_TEXT(SCRATCH_FULL), NULL,
                             recv->core.bytes);
    } else if (was_rts && recv->core.landed) {
        tutti_count_received(call, TUTTI_OUTCOME_STAGED, TUTTI_REASON_TEXT(SENDER), NULL, recv->core.bytes);
    } else if (was_rts) {
        const int far = tutti_endpoints_peer(comm, status->MPI_SOURCE) < 0;
        tutti_count_received(call, TUTTI_OUTCOME_ACCELERATED,
                             far ? "pipelined from another node" : "fetched from the sender", NULL, recv->core.bytes);
    } else {
        const MPI_Count bytes = tutti_received(status);
        if (bytes == 0) /* nothing was staged: the send has no row either */
            return;
        if (bytes > 0 && (uint64_t)bytes > stage->bytes) { /* it was received into memory of its own (short_recv.h) */
            count_failure(call, MPI_ERR_TRUNCATE);
            return;
        }
        tutti_count_received(call, TUTTI_OUTCOME_STAGED, tutti_reasons[reason_of(comm, status)].text,
                             tutti_stage_how(stage), bytes > 0 ? (uint64_t)bytes : 0);
    }
}
