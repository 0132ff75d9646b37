/* Jobs and workers. A job is one blocking function: what meets peers in kernels or in shared memory. A worker runs the
 * jobs of one team one after the other, on a fiber of the engine's thread (progress/fiber.h): where the job of one
 * worker waits, those of others go on. A worker without jobs that may run holds no stack.
 *
 * Order: peers meet in a job, so all ranks of a team must run its jobs in the same order. A job's place is the one that
 * it took by tutti_worker_reserve(), whenever it may run. As a task of a schedule (tasks.h) a job takes its place when
 * the schedule starts. So the order is the order in which the program starts its calls, which is the same on all ranks,
 * and not the order in which messages arrive. */
#ifndef TUTTI_SCHED_WORKER_H
#define TUTTI_SCHED_WORKER_H

#include <stdatomic.h>

/* The memory of a job: the caller may use it before reserve() and after the job is done. */
struct tutti_job {
    int (*run)(void *with); /* may wait by the engine's wait, bounded; a status. It uses no transport */
    void *with;
    int status;       /* what run() has returned */
    atomic_int state; /* enum tutti_job_state; zeroed at first */
    struct tutti_job *next;
};
enum tutti_job_state { TUTTI_JOB_NEW, TUTTI_JOB_RESERVED, TUTTI_JOB_READY, TUTTI_JOB_RUNS, TUTTI_JOB_DONE };

struct tutti_worker;

/* Local. NULL without memory. */
struct tutti_worker *tutti_worker_new(void);
/* Local, any thread; returns at once: the job's place is behind all jobs of the worker. */
void tutti_worker_reserve(struct tutti_worker *worker, struct tutti_job *job);
/* Local, any thread; returns at once: a job that has a place may run. A status; on failure no fiber could be made, and
 * the job has lost its place: its peers wait for this rank, so that the caller breaks the team. */
int tutti_worker_ready(struct tutti_worker *worker, struct tutti_job *job);
/* reserve() and ready() in one. */
int tutti_worker_give(struct tutti_worker *worker, struct tutti_job *job);
/* Local, any thread: takes a job out that has not begun. The job is new again: 1. 0: it runs or has run. */
int tutti_worker_skip(struct tutti_worker *worker, struct tutti_job *job);
/* Local. Waits for jobs that are ready or run, which are bounded themselves, and frees the worker. No job is reserved.
 * Takes NULL. */
void tutti_worker_end(struct tutti_worker *worker);

static inline int tutti_job_done(const struct tutti_job *job)
{
    return atomic_load_explicit(&job->state, memory_order_acquire) == TUTTI_JOB_DONE;
}

#endif
