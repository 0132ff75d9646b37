/* Requests that the program has freed before they completed: the memory of Tutti's that they use outlives them. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/settings.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_request *freed;
static atomic_int any;

void tutti_request_orphan(struct tutti_request *entry)
{
    pthread_mutex_lock(&lock);
    entry->next = freed;
    freed = entry;
    atomic_store_explicit(&any, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

/* 1 where it has ended. */
static int complete(struct tutti_request *entry)
{
    MPI_Status status;
    int flag = 0;
    TUTTI_INSIDE();
    tutti_requests_progress(&entry, &entry->handle, 1);
    if (tutti_is_coming(entry))
        return 0;
    if (tutti_real.MPI_Test(&entry->handle, &flag, &status) != MPI_SUCCESS)
        return 1;
    if (flag)
        tutti_request_deliver(entry, &status);
    if (flag && entry->handle != tutti_handles.no_request) /* persistent */
        tutti_real.MPI_Request_free(&entry->handle);
    return flag;
}

/* Completes what can be completed. 1: nothing is left. */
static int none_freed(void *unused)
{
    (void)unused;
    if (likely(!atomic_load_explicit(&any, memory_order_relaxed)))
        return 1;
    pthread_mutex_lock(&lock);
    struct tutti_request *mine = freed;
    freed = NULL;
    atomic_store_explicit(&any, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    int left = 0;
    while (mine) {
        struct tutti_request *next = mine->next;
        if (complete(mine)) {
            tutti_request_destroy(mine);
        } else {
            tutti_request_orphan(mine);
            left = 1;
        }
        mine = next;
    }
    return !left;
}

void tutti_requests_sweep(int all)
{
    if (!all)
        (void)none_freed(NULL);
    else
        tutti_progress_wait(&(const struct tutti_wait){.done = none_freed,
                                                       .what = "in MPI_Finalize, for requests that were freed",
                                                       .seconds = tutti_settings()->timeout_seconds});
}
