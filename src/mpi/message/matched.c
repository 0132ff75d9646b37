#include "mpi/message/matched.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* Most programs have few such messages at a time: each lies in one of a few slots, which its handle gives. Those that
 * find no slot lie in a table. */
enum { SLOTS = 64, WAYS = 4 };

struct matched {
    MPI_Message message;
    MPI_Comm comm;
    int used;             /* of a slot */
    struct matched *next; /* in the list of free entries */
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken where several threads call the MPI */
static struct matched slots[SLOTS];
static struct matched *all, *unused;
static _Thread_local MPI_Comm taken; /* of the message that this thread is receiving */

static void matched_enter(void)
{
    if (unlikely(tutti_door.multiple))
        pthread_mutex_lock(&lock);
}

static void matched_leave(void)
{
    if (unlikely(tutti_door.multiple))
        pthread_mutex_unlock(&lock);
}

/* The slot of this message, or else, for one that is new, a free one; NULL. */
static struct matched *matched_slot(MPI_Message message, int is_new)
{
    uint64_t word = 0;
    struct matched *free_one = NULL;
    memcpy(&word, &message, sizeof message);
    const uint64_t at = word ^ word >> 6 ^ word >> 12;
    for (uint64_t i = 0; i < WAYS; i++) {
        struct matched *it = &slots[(at + i) % SLOTS];
        if (it->used && it->message == message)
            return it;
        if (!it->used && !free_one)
            free_one = it;
    }
    return is_new ? free_one : NULL;
}

static struct matched *matched_find(MPI_Message message)
{
    struct matched *it = matched_slot(message, 0);
    if (!it && unlikely(all != NULL))
        HASH_FIND(hh, all, &message, sizeof message, it);
    return it;
}

/* For a message that is not known; NULL without memory. */
static struct matched *matched_new(MPI_Message message)
{
    struct matched *it = matched_slot(message, 1);
    if (likely(it != NULL)) {
        it->used = 1;
        it->message = message;
        return it;
    }
    it = unused ? unused : calloc(1, sizeof *it);
    if (!it)
        return NULL;
    unused = it == unused ? it->next : unused;
    it->message = message;
    HASH_ADD(hh, all, message, sizeof it->message, it);
    return it;
}

static void matched_drop(struct matched *it)
{
    if (likely(it->used)) {
        it->used = 0;
        return;
    }
    HASH_DEL(all, it);
    it->next = unused;
    unused = it;
}

void tutti_matched_put(MPI_Message message, MPI_Comm comm)
{
    matched_enter();
    struct matched *it = matched_find(message); /* of one that was received without a look */
    if (!it)
        it = matched_new(message);
    if (it)
        it->comm = comm;
    matched_leave();
}

MPI_Comm tutti_matched_take(const MPI_Message *message)
{
    MPI_Comm comm = tutti_handles.world;
    matched_enter();
    struct matched *it = message ? matched_find(*message) : NULL;
    if (it) {
        comm = it->comm;
        matched_drop(it);
    }
    matched_leave();
    taken = comm;
    return comm;
}

MPI_Comm tutti_matched_see(MPI_Message message)
{
    matched_enter();
    const struct matched *it = matched_find(message);
    MPI_Comm comm = it ? it->comm : tutti_inside ? taken : tutti_handles.world;
    matched_leave();
    return comm;
}
