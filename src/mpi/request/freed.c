/* Requests that the program has freed before they completed: the memory of Tutti's that they use outlives them, and
 * what they receive is handed on. They are a step: a program may only probe until the data are there. One thread at a
 * time looks at them. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/lock.h"
#include "core/settings.h"
#include "mpi/real/errors.h"
#include "mpi/real/quiet.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

static void freed_poll(void);
static struct tutti_step step = {.name = "requests that the program has freed", .poll = freed_poll};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_request *freed;
static struct tutti_lock looks; /* of the thread that looks at them */
__thread int tutti_sweeps_off;

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

static int none_freed(void)
{
    return likely(atomic_load_explicit(&step.open, memory_order_acquire) == 0);
}

/* Completes what can be completed. 0: another thread is at it, or this one. */
static int freed_look(void *unused)
{
    (void)unused;
    if (none_freed())
        return 1;
    if (!tutti_lock_try(&looks))
        return 0;
    pthread_mutex_lock(&lock);
    struct tutti_request *mine = freed;
    freed = NULL;
    pthread_mutex_unlock(&lock);
    tutti_sweeps_off++;
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
    tutti_sweeps_off--;
    tutti_lock_give(&looks);
    return 1;
}

static int freed_ended(void *unused)
{
    (void)freed_look(unused);
    return none_freed();
}

static void freed_poll(void)
{
    (void)freed_look(NULL);
}

/* Another thread may look at a request right now, and have asked the MPI before the message arrived. So a call waits
 * for that thread, and looks then. It makes no calls of the MPI meanwhile: the MPI's lock is not a fair one, and a
 * thread of the program that only probes would keep it from the other thread. After a second it gives up: a callback
 * that the MPI calls with a lock held may have made the call. */
void tutti_requests_sweep(int all)
{
    enum { SECONDS = 1 };
    if (tutti_sweeps_off || none_freed())
        return;
    if (all)
        tutti_progress_wait(&(const struct tutti_wait){.done = freed_ended,
                                                       .what = "in MPI_Finalize, for requests that were freed",
                                                       .seconds = tutti_settings()->timeout_seconds});
    else if (tutti_progress_polling())
        freed_poll();
    else
        tutti_progress_wait(&(const struct tutti_wait){.done = freed_look, .quiet = 1, .seconds = SECONDS});
}
