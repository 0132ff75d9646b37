#include "mpi/enqueue/requests.h"

#include <pthread.h>
#include <stdlib.h>

static struct tutti_enqueued *entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int grequest_query(void *with, MPI_Status *status)
{
    (void)with;
    (void)status;
    return MPI_SUCCESS;
}

static int grequest_release(void *with)
{
    (void)with;
    return MPI_SUCCESS;
}

static int grequest_cancel(void *with, int complete)
{
    (void)with;
    (void)complete;
    return MPI_SUCCESS;
}

struct tutti_enqueued *tutti_enqueued_new(struct tutti_comm *comm, int send, int peer, int tag)
{
    struct tutti_enqueued *entry = calloc(1, sizeof *entry); /* the handle's bytes are a key: padding is zero */
    if (!entry)
        return NULL;
    tutti_inside++;
    int code = tutti_next.MPI_Grequest_start(grequest_query, grequest_release, grequest_cancel, NULL, &entry->handle);
    tutti_inside--;
    if (code != MPI_SUCCESS) {
        free(entry);
        return NULL;
    }
    entry->comm = comm;
    entry->send = send;
    entry->peer = peer;
    entry->tag = tag;
    pthread_mutex_lock(&lock);
    HASH_ADD(hh, entries, handle, sizeof entry->handle, entry);
    pthread_mutex_unlock(&lock);
    return entry;
}

struct tutti_enqueued *tutti_enqueued_find(MPI_Request handle)
{
    struct tutti_enqueued *entry;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, entries, &handle, sizeof handle, entry);
    pthread_mutex_unlock(&lock);
    return entry;
}

void tutti_enqueued_leave(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    for (struct tutti_enqueued *entry = entries; entry; entry = entry->hh.next) {
        if (!entry->comm || entry->comm->handle != comm)
            continue;
        entry->comm = NULL;
        entry->lost = !entry->send && (entry->packed.scratch || entry->packed.bounced || entry->far);
        entry->packed.scratch = NULL; /* the lanes free it */
    }
    pthread_mutex_unlock(&lock);
}

void tutti_enqueued_end(struct tutti_enqueued *entry)
{
    pthread_mutex_lock(&lock);
    HASH_DEL(entries, entry);
    pthread_mutex_unlock(&lock);
    tutti_inside++;
    tutti_next.MPI_Grequest_complete(entry->handle);
    tutti_next.MPI_Request_free(&entry->handle);
    tutti_inside--;
    tutti_lanes_scratch_give(entry->packed.scratch);
    free(entry);
}
