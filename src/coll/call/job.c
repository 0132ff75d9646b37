#include "coll/job.h"

#include "coll/move.h"
#include "core/status.h"

static int run_reduction(void *with)
{
    struct tutti_reduce_job *job = with;
    struct tutti_memory in, out;
    if (!job->looked) {
        tutti_reduce_look(job->team->device, job->call, &in, &out);
        if (job->call->gpu < 0) /* memory of no GPU: not the current one of this thread */
            job->call->gpu = job->team->gpu;
    }
    return tutti_reduce_run(job->team, job->call, &job->taken, &job->why);
}

/* The reason is one for all fibers of the thread: it is read before another fiber runs. */
static int run_move(void *with)
{
    struct tutti_move_job *job = with;
    if (job->team->state == TUTTI_TEAM_BROKEN) { /* after it was given: the MPI makes this call, as later ones */
        tutti_team_leave(job->team);
        job->reason = TUTTI_REASON_COMM;
        job->how = NULL;
        return TUTTI_OK;
    }
    if (tutti_team_has_report(job->team))
        return tutti_team_take_report(job->team);
    tutti_why_set(job->reason);
    if (!job->looked && job->call->move) { /* earlier calls may have opened the team, or opened it again */
        tutti_endpoint_poll(job->call->move->worker->endpoint);
        tutti_move_clear(job->call->move);
        job->able = tutti_move_able(job->team, job->call);
    }
    const int status = tutti_move_run_rows(job->team, job->call, job->able, &job->how);
    job->reason = tutti_why_take(TUTTI_REASON_OTHER);
    return status;
}

int tutti_reduce_give(struct tutti_worker *worker, struct tutti_reduce_job *job)
{
    job->job.run = run_reduction;
    job->job.with = job;
    return tutti_worker_give(worker, &job->job);
}

int tutti_move_give(struct tutti_worker *worker, struct tutti_move_job *job)
{
    job->job.run = run_move;
    job->job.with = job;
    return tutti_worker_give(worker, &job->job);
}
