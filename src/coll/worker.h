/* Workers: run the calls of one team in order, so that they progress while the program does something else. All workers
 * of a process share the engine's one thread (progress/fiber.h): where one waits, the others go on. A worker without
 * calls holds no stack. */
#ifndef TUTTI_COLL_WORKER_H
#define TUTTI_COLL_WORKER_H

#include <stdatomic.h>

#include "coll/coll.h"

/* One call. All but `done` is the worker's from give() until `done` is set, and its caller's otherwise. */
struct tutti_job {
    struct tutti_job *next;
    const struct tutti_call *call; /* stays as it is until `done` */
    const char *why;               /* outputs of tutti_collective() */
    enum tutti_taken taken;
    int status;
    _Atomic int done; /* 1, written last */
};

struct tutti_worker;

/* Local. A worker of `team`. TUTTI_ERR_MEMORY. */
int tutti_worker_new(struct tutti_team *team, struct tutti_worker **out);
/* Local; returns at once. Jobs run in the order in which they were given. A status; on failure the job was not taken,
 * and the team is broken where its peers would wait for this rank. */
int tutti_worker_give(struct tutti_worker *worker, struct tutti_job *job);
/* Local. Waits for jobs under way, which are bounded themselves, and frees the worker. `worker` may be NULL. */
void tutti_worker_end(struct tutti_worker *worker);

static inline int tutti_job_done(const struct tutti_job *job)
{
    return atomic_load_explicit(&job->done, memory_order_acquire);
}

#endif
