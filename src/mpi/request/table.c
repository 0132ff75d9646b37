#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve.h"
#include "core/spares.h"
#include "mpi/bounce/alive.h"
#include "mpi/request/request.h"
#include "mpi/request/unwatched.h"

atomic_int tutti_requests_open, tutti_files_advance;
static struct tutti_lock lock; /* of the table */
static struct tutti_request *table TUTTI_GUARDED(lock);
static struct tutti_spares unused;
static struct tutti_reserve reserve; /* for requests that the MPI is at already */
static struct tutti_request anchor;  /* in the table for good: uthash frees and allocates one that is empty */

/* Handles are pointers or small numbers. */
static unsigned table_hash_of(MPI_Request request)
{
    uint64_t word = 0;
    memcpy(&word, &request, sizeof request);
    return (unsigned)(word * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static struct tutti_request *table_find(MPI_Request request) TUTTI_HOLDS(lock)
{
    struct tutti_request *entry;
    HASH_FIND_BYHASHVALUE(hh, table, &request, sizeof request, table_hash_of(request), entry);
    return entry;
}

static void table_add(struct tutti_request *entry) TUTTI_HOLDS(lock)
{
    if (!table) {
        anchor.handle = tutti_handles.no_request;
        HASH_ADD_BYHASHVALUE(hh, table, handle, sizeof anchor.handle, table_hash_of(anchor.handle), &anchor);
    }
    HASH_ADD_BYHASHVALUE(hh, table, handle, sizeof entry->handle, table_hash_of(entry->handle), entry);
}

static struct tutti_request *table_take(MPI_Request request) TUTTI_HOLDS(lock)
{
    struct tutti_request *entry = table_find(request);
    if (entry)
        HASH_DEL(table, entry);
    return entry;
}

struct tutti_request *tutti_request_new(const struct tutti_request_kind *kind, MPI_Request handle, MPI_Comm comm)
{
    struct tutti_request *entry = tutti_spares_take(&unused, offsetof(struct tutti_request, next), tutti_door_alone());
    if (!entry && !(entry = tutti_reserve_take(&reserve, sizeof *entry)))
        return NULL;
    memset(entry, 0, kind->fills ? offsetof(struct tutti_request, own) : sizeof *entry);
    entry->kind = kind;
    entry->handle = handle;
    entry->comm = comm;
    return entry;
}

void tutti_request_give(struct tutti_request *entry)
{
    tutti_alive_leave(entry->alive);
    tutti_spares_give(&unused, entry, offsetof(struct tutti_request, next), tutti_door_alone());
}

static void table_count(int more) TUTTI_HOLDS(lock)
{
    const int open = atomic_load_explicit(&tutti_requests_open, memory_order_relaxed);
    atomic_store_explicit(&tutti_requests_open, open + more, memory_order_relaxed);
}

void tutti_request_back(struct tutti_request *entry)
{
    tutti_lock_take_alone(&lock, tutti_door_alone());
    table_add(entry);
    table_count(1);
    tutti_lock_give(&lock);
}

void tutti_request_push(struct tutti_request *entry)
{
    tutti_lock_take_alone(&lock, tutti_door_alone());
    entry->under = table_take(entry->handle);
    table_add(entry);
    table_count(entry->under ? 0 : 1);
    tutti_lock_give(&lock);
}

struct tutti_request *tutti_request_see(MPI_Request request)
{
    struct tutti_request *entry;
    if (request == tutti_handles.no_request)
        return NULL;
    tutti_lock_take_alone(&lock, tutti_door_alone());
    entry = table_find(request);
    tutti_lock_give(&lock);
    return entry;
}

struct tutti_request *tutti_request_visit(MPI_Request request)
{
    struct tutti_request *entry;
    if (request == tutti_handles.no_request)
        return NULL;
    tutti_lock_take_alone(&lock, tutti_door_alone());
    entry = table_find(request);
    if (entry)
        entry->visits++;
    tutti_lock_give(&lock);
    return entry;
}

static void table_visits(struct tutti_request *entry, int more) TUTTI_HOLDS(lock)
{
    entry->visits += more;
}

void tutti_request_leave(struct tutti_request *entry)
{
    tutti_lock_take_alone(&lock, tutti_door_alone());
    table_visits(entry, -1);
    tutti_lock_give(&lock);
}

struct tutti_request *tutti_request_take(MPI_Request request)
{
    struct tutti_request *entry;
    if (request == tutti_handles.no_request)
        return NULL;
    tutti_lock_take_alone(&lock, tutti_door_alone());
    entry = table_take(request);
    table_count(entry ? -1 : 0);
    tutti_lock_give(&lock);
    return entry;
}

int tutti_requests_take(const MPI_Request requests[], int n, struct tutti_request *entries[])
{
    int found = 0;
    tutti_lock_take_alone(&lock, tutti_door_alone());
    for (int i = 0; i < n; i++) {
        entries[i] = requests[i] == tutti_handles.no_request ? NULL : table_take(requests[i]);
        found += entries[i] != NULL;
    }
    table_count(-found);
    tutti_lock_give(&lock);
    return found;
}

void tutti_requests_each(void (*visit)(struct tutti_request *entry, void *with), void (*end)(void *with), void *with)
{
    tutti_lock_take_alone(&lock, tutti_door_alone());
    for (struct tutti_request *entry = table; entry; entry = entry->hh.next) {
        if (entry != &anchor)
            visit(entry, with);
    }
    if (end)
        end(with);
    tutti_lock_give(&lock);
}

void tutti_requests_close(void)
{
    struct tutti_request *entry;
    tutti_unwatched_close();
    while ((entry = tutti_spares_take(&unused, offsetof(struct tutti_request, next), tutti_door_alone())) != NULL)
        free(entry);
    tutti_lock_take_alone(&lock, tutti_door_alone());
    if (table && tutti_requests_none())
        HASH_DEL(table, &anchor);
    tutti_lock_give(&lock);
}
