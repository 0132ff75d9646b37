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
    int running; /* there is a fiber */
};

static int job_state(const struct tutti_job *job)
{
    return atomic_load_explicit(&job->state, memory_order_relaxed);
}

static void set_job_state(struct tutti_job *job, enum tutti_job_state state)
{
    atomic_store_explicit(&job->state, state, memory_order_release);
}

/* The lock is held. */
static void unlink_job(struct tutti_worker *worker, struct tutti_job *job)
{
    struct tutti_job **at = &worker->first;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (!*at)
        worker->last = at;
}

/* The first job, if it may run; otherwise the fiber is over. */
static struct tutti_job *next_job(struct tutti_worker *worker)
{
    tutti_fiber_lock(&worker->lock);
    struct tutti_job *job = worker->first;
    if (job && job_state(job) == TUTTI_JOB_READY) {
        unlink_job(worker, job);
        set_job_state(job, TUTTI_JOB_RUNS);
    } else {
        job = NULL;
        worker->running = 0;
    }
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
        set_job_state(job, TUTTI_JOB_DONE);
        tutti_fiber_moved();
        tutti_fiber_rest();
        tutti_fiber_catch_up();
    }
}

/* The lock is held. Makes a fiber if the first job may run and no fiber exists. */
static int run_first(struct tutti_worker *worker)
{
    if (worker->running || !worker->first || job_state(worker->first) != TUTTI_JOB_READY)
        return TUTTI_OK;
    const int status = tutti_fiber_start(run_jobs, worker);
    worker->running = status == TUTTI_OK;
    return status;
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

/* The lock is held. */
static void append_job(struct tutti_worker *worker, struct tutti_job *job, enum tutti_job_state state)
{
    job->next = NULL;
    set_job_state(job, state);
    *worker->last = job;
    worker->last = &job->next;
}

/* The lock is held. As run_first(); on failure `job` leaves. */
static int run_first_or_drop(struct tutti_worker *worker, struct tutti_job *job)
{
    const int status = run_first(worker);
    if (status != TUTTI_OK) {
        unlink_job(worker, job);
        set_job_state(job, TUTTI_JOB_NEW);
    }
    return status;
}

void tutti_worker_reserve(struct tutti_worker *worker, struct tutti_job *job)
{
    pthread_mutex_lock(&worker->lock);
    append_job(worker, job, TUTTI_JOB_RESERVED);
    pthread_mutex_unlock(&worker->lock);
}

int tutti_worker_ready(struct tutti_worker *worker, struct tutti_job *job)
{
    pthread_mutex_lock(&worker->lock);
    set_job_state(job, TUTTI_JOB_READY);
    const int status = run_first_or_drop(worker, job);
    pthread_mutex_unlock(&worker->lock);
    return status;
}

int tutti_worker_give(struct tutti_worker *worker, struct tutti_job *job)
{
    pthread_mutex_lock(&worker->lock);
    append_job(worker, job, TUTTI_JOB_READY);
    const int status = run_first_or_drop(worker, job);
    pthread_mutex_unlock(&worker->lock);
    return status;
}

int tutti_worker_skip(struct tutti_worker *worker, struct tutti_job *job)
{
    pthread_mutex_lock(&worker->lock);
    const int state = job_state(job), waits = state == TUTTI_JOB_RESERVED || state == TUTTI_JOB_READY;
    if (waits) {
        unlink_job(worker, job);
        set_job_state(job, TUTTI_JOB_NEW);
        (void)run_first(worker); /* without a fiber the next job that is ready tries again */
    }
    pthread_mutex_unlock(&worker->lock);
    return waits || state == TUTTI_JOB_NEW;
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
