/* Reductions as jobs: a worker runs those of one team in order, so that they progress while the program does something
 * else (sched/worker.h). */
#ifndef TUTTI_COLL_JOB_H
#define TUTTI_COLL_JOB_H

#include "coll/coll.h"
#include "sched/worker.h"

/* One call. The worker's from give() until tutti_job_done(), and its caller's otherwise. */
struct tutti_reduce_job {
    struct tutti_job job; /* job.status: what tutti_collective() has returned */
    struct tutti_team *team;
    const struct tutti_call *call; /* stays as it is until the job is done */
    const char *why;               /* outputs of tutti_collective() */
    enum tutti_taken taken;
};

/* Local; returns at once. job->team and job->call are set. Jobs of the worker run in the order in which they were
 * given. A status; on failure the job was not taken, and the team is broken, since its peers would wait for this rank.
 */
int tutti_reduce_give(struct tutti_worker *worker, struct tutti_reduce_job *job);

#endif
