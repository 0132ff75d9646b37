/* Jobs and workers. A job is one blocking function: what meets peers in kernels or in shared memory. A worker runs the
 * jobs of one team one after the other, on a fiber of the engine's thread (progress/fiber.h): where the job of one
 * worker waits, those of others go on. A worker without jobs that may run holds no stack.
 *
 * Order: peers meet in a job, so all ranks of a team must run its jobs in the same order. A worker runs its jobs in the
 * order in which it was given them. */
#ifndef TUTTI_SCHED_WORKER_H
#define TUTTI_SCHED_WORKER_H

#include <stdatomic.h>

/* The memory of a job: the caller may use it before tutti_worker_give() and after the job is done. */
struct tutti_job {
    int (*run)(void *with); /* may wait by the engine's wait, bounded; a status. It uses no transport */
    void *with;
    int status;      /* what run() has returned */
    atomic_int done; /* 1: it has */
    struct tutti_job *next;
};

struct tutti_worker;

/* Local. NULL without memory. */
struct tutti_worker *tutti_worker_new(void);
/* Local, any thread; returns at once: the job runs behind all jobs of the worker. A status; on failure no fiber could
 * be made, and the job does not run: its peers wait for this rank, so that the caller breaks the team. */
int tutti_worker_give(struct tutti_worker *worker, struct tutti_job *job);
/* Local. Waits for the worker's jobs, which are bounded themselves, and frees the worker. Takes NULL. */
void tutti_worker_end(struct tutti_worker *worker);

static inline int tutti_job_done(const struct tutti_job *job)
{
    return atomic_load_explicit(&job->done, memory_order_acquire);
}

#endif
