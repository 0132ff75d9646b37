#include "progress/worker.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"

enum { LINGER_NS = 20000 }; /* after a job, before it sleeps: calls come in bursts */

struct tutti_worker {
    struct tutti_team *team;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    int alive, ending;
    _Atomic int waiting; /* jobs that have been given and not begun */
    struct tutti_job *first, **last;
};

static __thread int on_worker;

int tutti_on_worker(void)
{
    return on_worker;
}

/* A few microseconds of looking before the sleep, not where the program asked for sleep or yields. */
static void linger(struct tutti_worker *worker)
{
    if (tutti_settings()->wait == TUTTI_SET_WAIT_SLEEP)
        return;
    uint64_t until = tutti_now_ns() + LINGER_NS;
    while (atomic_load_explicit(&worker->waiting, memory_order_relaxed) == 0 && tutti_now_ns() < until)
        sched_yield();
}

static struct tutti_job *next_job(struct tutti_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    while (!worker->first && !worker->ending)
        pthread_cond_wait(&worker->wake, &worker->lock);
    struct tutti_job *job = worker->first;
    if (job) {
        worker->first = job->next;
        if (!worker->first)
            worker->last = &worker->first;
        atomic_fetch_sub_explicit(&worker->waiting, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&worker->lock);
    return job;
}

static void *work(void *at)
{
    struct tutti_worker *worker = at;
    struct tutti_job *job;
    on_worker = 1;
    while ((job = next_job(worker)) != NULL) {
        job->status = tutti_collective(worker->team, job->call, &job->taken, &job->why);
        atomic_store_explicit(&job->done, 1, memory_order_release);
        linger(worker);
    }
    return NULL;
}

int tutti_worker_new(struct tutti_team *team, struct tutti_worker **out)
{
    struct tutti_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return TUTTI_ERR_MEMORY;
    worker->team = team;
    worker->last = &worker->first;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    *out = worker;
    return TUTTI_OK;
}

/* The lock is held. Signals are the program's: none is delivered to this thread. */
static int start(struct tutti_worker *worker)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker->alive = pthread_create(&worker->thread, NULL, work, worker) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (worker->alive)
        return TUTTI_OK;
    tutti_error("no thread could be made for the nonblocking calls on %s", worker->team->transport->label);
    return TUTTI_ERR_SYSTEM;
}

int tutti_worker_give(struct tutti_worker *worker, struct tutti_job *job)
{
    pthread_mutex_lock(&worker->lock);
    int status = worker->alive ? TUTTI_OK : start(worker);
    if (status == TUTTI_OK) {
        job->next = NULL;
        atomic_store_explicit(&job->done, 0, memory_order_relaxed);
        *worker->last = job;
        worker->last = &job->next;
        atomic_fetch_add_explicit(&worker->waiting, 1, memory_order_relaxed);
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->lock);
    return status;
}

void tutti_worker_end(struct tutti_worker *worker)
{
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->ending = 1;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    if (worker->alive)
        pthread_join(worker->thread, NULL);
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->wake);
    free(worker);
}
