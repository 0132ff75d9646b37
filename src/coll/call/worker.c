#include "coll/worker.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/status.h"
#include "progress/engine.h"
#include "progress/fiber.h"

struct tutti_worker {
    struct tutti_team *team;
    pthread_mutex_t lock; /* of the list; never held while anything is waited for */
    struct tutti_job *first, **last;
    atomic_int running; /* there is a fiber */
};

/* The next job; without one the fiber is over. */
static struct tutti_job *next_job(struct tutti_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    struct tutti_job *job = worker->first;
    if (job) {
        worker->first = job->next;
        if (!worker->first)
            worker->last = &worker->first;
    } else {
        atomic_store_explicit(&worker->running, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&worker->lock);
    return job;
}

static void work(void *with)
{
    struct tutti_worker *worker = with;
    struct tutti_job *job;
    while ((job = next_job(worker)) != NULL) {
        job->status = tutti_collective(worker->team, job->call, &job->taken, &job->why);
        atomic_store_explicit(&job->done, 1, memory_order_release);
        tutti_fiber_moved();
    }
}

int tutti_worker_new(struct tutti_team *team, struct tutti_worker **out)
{
    struct tutti_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return TUTTI_ERR_MEMORY;
    worker->team = team;
    worker->last = &worker->first;
    pthread_mutex_init(&worker->lock, NULL);
    *out = worker;
    return TUTTI_OK;
}

int tutti_worker_give(struct tutti_worker *worker, struct tutti_job *job)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&worker->lock);
    job->next = NULL;
    atomic_store_explicit(&job->done, 0, memory_order_relaxed);
    *worker->last = job;
    worker->last = &job->next;
    if (!atomic_load_explicit(&worker->running, memory_order_relaxed)) {
        status = tutti_fiber_start(work, worker);
        atomic_store_explicit(&worker->running, status == TUTTI_OK, memory_order_relaxed);
    }
    if (status != TUTTI_OK) { /* it was the only one */
        worker->first = NULL;
        worker->last = &worker->first;
        tutti_team_break(worker->team, status);
    }
    pthread_mutex_unlock(&worker->lock);
    return status;
}

static int is_over(void *with)
{
    struct tutti_worker *worker = with;
    pthread_mutex_lock(&worker->lock); /* not before the fiber has left it */
    const int running = atomic_load_explicit(&worker->running, memory_order_relaxed);
    pthread_mutex_unlock(&worker->lock);
    return !running;
}

void tutti_worker_end(struct tutti_worker *worker)
{
    if (!worker)
        return;
    if (!is_over(worker))
        tutti_progress_wait(&(const struct tutti_wait){.done = is_over, .with = worker});
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}
