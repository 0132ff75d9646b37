#include "sched/worker.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/counters.h"
#include "core/status.h"
#include "progress/engine.h"
#include "progress/fiber.h"

struct tutti_worker {
    pthread_mutex_t lock; /* of all below; never held while anything is waited for */
    struct tutti_job *first, **last;
    int running; /* there is a fiber, as long as jobs wait or run */
};

/* The first job; NULL: the fiber is over. */
static struct tutti_job *next_job(struct tutti_worker *worker)
{
    tutti_fiber_lock(&worker->lock);
    struct tutti_job *job = worker->first;
    if (!job)
        worker->running = 0;
    else if (!(worker->first = job->next))
        worker->last = &worker->first;
    pthread_mutex_unlock(&worker->lock);
    return job;
}

static void run_jobs(void *with)
{
    struct tutti_worker *worker = with;
    struct tutti_job *job;
    while ((job = next_job(worker)) != NULL) {
        if (tutti_fiber_is_guest())
            tutti_count("jobs of nonblocking calls", TUTTI_OUTCOME_SERVED, NULL);
        job->status = job->run(job->with);
        atomic_store_explicit(&job->done, 1, memory_order_release);
        tutti_fiber_moved();
        tutti_fiber_rest();
        tutti_fiber_catch_up();
    }
}

struct tutti_worker *tutti_worker_new(void)
{
    struct tutti_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return NULL;
    worker->last = &worker->first;
    pthread_mutex_init(&worker->lock, NULL);
    return worker;
}

int tutti_worker_give(struct tutti_worker *worker, struct tutti_job *job)
{
    job->next = NULL;
    atomic_store_explicit(&job->done, 0, memory_order_relaxed);
    pthread_mutex_lock(&worker->lock); /* which a new fiber takes first */
    const int status = worker->running ? TUTTI_OK : tutti_fiber_start(run_jobs, worker);
    if (status == TUTTI_OK) {
        worker->running = 1;
        *worker->last = job;
        worker->last = &job->next;
    }
    pthread_mutex_unlock(&worker->lock);
    return status;
}

static int is_over(void *with)
{
    struct tutti_worker *worker = with;
    pthread_mutex_lock(&worker->lock); /* not before the fiber has left it */
    const int runs = worker->running;
    pthread_mutex_unlock(&worker->lock);
    return !runs;
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
