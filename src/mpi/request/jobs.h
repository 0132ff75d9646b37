/* Turns of jobs (sched/worker.h, progress/fiber.h) in calls that wait for requests: while the library's thread sleeps
 * or lacks a core, the thread that waits runs the jobs. */
#ifndef TUTTI_MPI_REQUEST_JOBS_H
#define TUTTI_MPI_REQUEST_JOBS_H

#include "mpi/request/request.h"
#include "mpi/request/waits.h"
#include "progress/engine.h"
#include "progress/fiber.h"

/* Of one call. `first` below: the first claimed request that has not ended, or NULL. */
struct tutti_jobs {
    int all;                      /* 1: a job is to complete each request that is not null */
    int worked;                   /* 1: the first one was under way at the last look */
    unsigned until_turn;          /* looks or rounds until this thread tries to make a turn */
    int drives;                   /* see tutti_fibers_drive() */
    struct tutti_fiber_seen seen; /* of the library's thread */
};

/* in: the wait of the call, whose `spins` are looks at the jobs. */
void tutti_jobs_begin(struct tutti_jobs *jobs, const struct tutti_call_requests *mine,
                      const struct tutti_request *first, struct tutti_wait *in);
/* Makes a turn if it is this thread's. */
void tutti_jobs_turn(struct tutti_jobs *jobs, const struct tutti_request *first, struct tutti_wait *in);
/* 1 while the first job is under way and a poll does not end it: this thread makes the turns, or the library's does on
 * a core of its own. */
int tutti_jobs_work(const struct tutti_jobs *jobs, const struct tutti_request *first);
static inline void tutti_jobs_end(const struct tutti_jobs *jobs)
{
    if (unlikely(jobs->drives))
        tutti_fibers_leave(&jobs->drives);
}

#endif
