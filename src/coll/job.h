/* Reductions and moves as jobs: a worker runs those of one team in order, so that they progress while the program
 * does something else (sched/worker.h). */
#ifndef TUTTI_COLL_JOB_H
#define TUTTI_COLL_JOB_H

#include "coll/coll.h"
#include "core/reasons.h"
#include "sched/worker.h"

/* One call. The worker's from give() until tutti_job_done(), and its caller's otherwise. */
struct tutti_reduce_job {
    struct tutti_job job; /* job.status: result of tutti_reduce_run() */
    struct tutti_team *team;
    struct tutti_call *call; /* must not change until the job is done */
    int looked;              /* 1: `call` holds what tutti_reduce_look() has found; 0: the job calls it in its turn */
    const char *why;         /* outputs of tutti_reduce_run() */
    enum tutti_reduce_outcome taken;
};

/* Local; returns at once. job->team and job->call are set. Jobs of the worker run in the order in which they were
 * given. A status; on failure the job was not taken, and its peers wait for this rank until it leaves the team. */
int tutti_reduce_give(struct tutti_worker *worker, struct tutti_reduce_job *job);

/* The same for one move. Only the worker's fiber polls its blocks. */
struct tutti_move_job {
    struct tutti_job job; /* job.status: result of tutti_move_run_rows() */
    struct tutti_team *team;
    const struct tutti_call *call;
    /* looked: 1: `able` is the result of tutti_move_able(), since no other call of the team was under way; 0: the
     * job calls it in its turn, and the move may have been run before. */
    int looked;
    uint32_t able;
    enum tutti_reason reason; /* why not; an input where call->move is NULL or `able` is 0 */
    const char *how;          /* output of tutti_move_run_rows() */
};
/* As tutti_reduce_give(). */
int tutti_move_give(struct tutti_worker *worker, struct tutti_move_job *job);

#endif
