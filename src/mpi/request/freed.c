/* Requests that the program has freed before they completed: the memory of Tutti's that they use outlives them, and
 * what they receive is handed on. They are a step: a program may only probe until the data are there. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/settings.h"
#include "mpi/real/errors.h"
#include "mpi/real/quiet.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

static void freed_poll(void);
static struct tutti_step step = {.name = "requests that the program has freed", .poll = freed_poll};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_request *freed;
static _Atomic(struct tutti_step *) also;

static void freed_put(struct tutti_request *entry)
{
    pthread_mutex_lock(&lock);
    entry->next = freed;
    freed = entry;
    pthread_mutex_unlock(&lock);
}

void tutti_request_orphan(struct tutti_request *entry)
{
    freed_put(entry);
    tutti_progress_add(&step);
    tutti_step_open(&step);
}

/* 1 if the request has completed and the MPI has freed it. No caller gets its error. */
static int freed_complete(struct tutti_request *entry)
{
    int flag = 0, code = MPI_SUCCESS;
    TUTTI_INSIDE();
    if (!entry->ended)
        code = tutti_look(entry->handle, &flag, &entry->status);
    entry->ended |= flag;
    if (code == MPI_SUCCESS && (!entry->ended || !tutti_request_fetched(entry, &entry->status)))
        return 0;
    tutti_unraised++;
    if (code == MPI_SUCCESS)
        tutti_request_deliver(entry, &entry->status);
    tutti_unraised--;
    tutti_next.MPI_Request_free(&entry->handle); /* MPI_Test would raise the error */
    return 1;
}

/* Completes what can be completed. 1: nothing is left. */
static int none_freed(void *unused)
{
    (void)unused;
    if (likely(!tutti_step_busy(&step)))
        return 1;
    pthread_mutex_lock(&lock);
    struct tutti_request *mine = freed;
    freed = NULL;
    pthread_mutex_unlock(&lock);
    while (mine) {
        struct tutti_request *next = mine->next;
        if (freed_complete(mine)) {
            tutti_request_destroy(mine);
            tutti_step_close(&step);
        } else {
            freed_put(mine);
        }
        mine = next;
    }
    return !tutti_step_busy(&step);
}

static void freed_poll(void)
{
    (void)none_freed(NULL);
}

void tutti_requests_sweep_too(struct tutti_step *other)
{
    atomic_store_explicit(&also, other, memory_order_release);
}

__thread int tutti_sweeps_off;

void tutti_requests_sweep(int all)
{
    if (tutti_sweeps_off)
        return;
    struct tutti_step *other = atomic_load_explicit(&also, memory_order_acquire);
    if (other && tutti_step_busy(other))
        other->poll();
    if (!all)
        (void)none_freed(NULL);
    else
        tutti_progress_wait(&(const struct tutti_wait){.done = none_freed,
                                                       .what = "in MPI_Finalize, for requests that were freed",
                                                       .seconds = tutti_settings()->timeout_seconds});
}
