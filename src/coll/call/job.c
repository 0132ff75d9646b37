#include "coll/job.h"

#include "core/status.h"

static int run_reduction(void *with)
{
    struct tutti_reduce_job *job = with;
    return tutti_collective(job->team, job->call, &job->taken, &job->why);
}

int tutti_reduce_give(struct tutti_worker *worker, struct tutti_reduce_job *job)
{
    job->job.run = run_reduction;
    job->job.with = job;
    const int status = tutti_worker_give(worker, &job->job);
    if (status != TUTTI_OK)
        tutti_team_break(job->team, status);
    return status;
}
