#include "mpi/message/matched.h"

#include <pthread.h>
#include <stdlib.h>
#include <uthash.h>

struct matched {
    MPI_Message message;
    MPI_Comm comm;
    struct matched *next; /* in the list of free entries */
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct matched *all, *unused;

static struct matched *matched_find(MPI_Message message)
{
    struct matched *it;
    HASH_FIND(hh, all, &message, sizeof message, it);
    return it;
}

void tutti_matched_put(MPI_Message message, MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    struct matched *it = matched_find(message); /* of one that was received without a look */
    if (!it && (it = unused) != NULL)
        unused = it->next;
    else if (!it)
        it = calloc(1, sizeof *it);
    else
        HASH_DEL(all, it);
    if (it) {
        it->message = message;
        it->comm = comm;
        HASH_ADD(hh, all, message, sizeof it->message, it);
    }
    pthread_mutex_unlock(&lock);
}

MPI_Comm tutti_matched_take(const MPI_Message *message)
{
    MPI_Comm comm = tutti_handles.world;
    pthread_mutex_lock(&lock);
    struct matched *it = message ? matched_find(*message) : NULL;
    if (it) {
        comm = it->comm;
        HASH_DEL(all, it);
        it->next = unused;
        unused = it;
    }
    pthread_mutex_unlock(&lock);
    return comm;
}

MPI_Comm tutti_matched_see(MPI_Message message)
{
    pthread_mutex_lock(&lock);
    const struct matched *it = matched_find(message);
    MPI_Comm comm = it ? it->comm : tutti_handles.world;
    pthread_mutex_unlock(&lock);
    return comm;
}
