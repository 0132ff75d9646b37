#include "mpi/move/mover_job.h"

#include <stddef.h>

#include "coll/job.h"
#include "core/reserve.h"
#include "core/spares.h"
#include "mpi/comm/hints.h"
#include "mpi/move/mover_own.h"
#include "mpi/real/errors.h"
#include "p2p/deferred.h"

struct tutti_mover_job {
    struct tutti_mover_job *next; /* among those that are not in use */
    struct tutti_move_job job;
    struct tutti_call call;
    struct tutti_mover mover;
    struct tutti_deferred transport; /* a fiber does not call the MPI */
};

static struct tutti_spares unused;

struct tutti_team *tutti_mover_team_nonblocking(const struct tutti_comm *state)
{
    struct tutti_team *const team = state->team; /* its own state says nothing of its nonblocking team */
    struct tutti_team *const nonblocking = team && team->size > 1 && team->whole ? team->nonblocking : NULL;
    if (nonblocking && nonblocking->state != TUTTI_TEAM_BROKEN)
        return nonblocking;
    if (nonblocking)
        tutti_team_leave(nonblocking);
    tutti_why_set(nonblocking ? TUTTI_REASON_COMM : tutti_mover_teamless(state));
    return NULL;
}

struct tutti_mover_job *tutti_mover_job_open(const struct tutti_collective_args *call, struct tutti_team *nonblocking,
                                             int begins)
{
    static struct tutti_reserve reserve;
    struct tutti_mover_job *job =
        tutti_spares_take(&unused, offsetof(struct tutti_mover_job, next), tutti_door_alone());
    if (!job && !(job = tutti_reserve_take(&reserve, sizeof *job)))
        return NULL;
    tutti_deferred_over(&job->transport, tutti_p2p.transport);
    tutti_mover_begin(&job->mover, call, nonblocking, 1);
    job->mover.begins = begins;
    job->call = (struct tutti_call){.collective = call->collective, .root = call->root, .may_open_later = 1};
    job->job = (struct tutti_move_job){.team = nonblocking, .call = &job->call};
    if (tutti_mover_describe(&job->mover, &job->transport.base))
        job->call.move = &job->mover.move;
    else
        job->job.reason = tutti_why_take(TUTTI_REASON_OTHER);
    return job;
}

void tutti_mover_job_join(struct tutti_mover_job *job)
{
    job->mover.move.joins = 1;
}

int tutti_mover_job_able(struct tutti_mover_job *job)
{
    tutti_why_set(job->job.reason);
    job->job.able = tutti_move_able(job->job.team, &job->call);
    job->job.looked = 1;
    tutti_why_set(job->job.reason = tutti_why_take(TUTTI_REASON_OTHER)); /* of all rows that the call might have */
    return job->job.able != 0;
}

void tutti_mover_job_again(struct tutti_mover_job *job, struct tutti_team *nonblocking)
{
    struct tutti_move *const move = &job->mover.move;
    const int spare = tutti_comm_spares(job->mover.call->comm, 0);
    job->mover.team = job->job.team = nonblocking;
    job->job.looked = 0;
    job->job.reason = TUTTI_REASON_NONE;
    if (move->joins || move->spare != spare) { /* the worker has the line */
        move->joins = 0;
        move->spare = spare;
    }
}

void tutti_mover_job_decline(const struct tutti_mover_job *job)
{
    tutti_why_set(job->job.able || !job->job.looked ? TUTTI_REASON_MEMORY : job->job.reason);
    tutti_move_decline(job->job.team, &job->call);
}

int tutti_mover_job_give(struct tutti_mover_job *job, struct tutti_worker *worker)
{
    return tutti_move_give(worker, &job->job);
}

int tutti_mover_job_done(const struct tutti_mover_job *job)
{
    return tutti_job_done(&job->job.job);
}

int tutti_mover_job_result(const struct tutti_mover_job *job, int *code, enum tutti_reason *reason)
{
    const int status = job->job.job.status;
    const char *name = job->mover.call->name;
    *reason = job->job.reason;
    *code = tutti_mover_code(&job->mover, status);
    if (*code != MPI_SUCCESS)
        tutti_count(name, TUTTI_OUTCOME_FAILED,
                    status != TUTTI_OK ? tutti_status_text(status) : "the data received were not expected");
    else if (job->job.how)
        tutti_mover_count(&job->mover, job->job.how);
    return *code != MPI_SUCCESS || job->job.how;
}

void tutti_mover_job_close(struct tutti_mover_job *job)
{
    if (!job)
        return;
    tutti_mover_close(&job->mover);
    tutti_spares_give(&unused, job, offsetof(struct tutti_mover_job, next), tutti_door_alone());
}
