/* State of communicators, found by handle without a lock: open addressing over atomic words, written under a mutex. An
 * entry leaves through the delete callback of an attribute, so that a handle that the MPI uses again finds nothing. */
#include "mpi/real/door.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "coll/hierarchy.h"
#include "core/reserve.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/streams.h"
#include "mpi/real/handles.h"
#include "progress/engine.h"

enum { FIRST_SLOTS = 256, SETTLE_SECONDS = 2 };

_Atomic(struct tutti_comm_table *) tutti_comm_table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_comm *all;
static int keyval, closing;
static struct tutti_comm_users told;
static struct tutti_reserve states; /* a rank without it could not take part in making a team */

static void comms_put(struct tutti_comm_table *table, uint64_t key, struct tutti_comm *comm)
{
    size_t i = tutti_hash(key, table->slots);
    while (atomic_load_explicit(&table->slot[i].key, memory_order_relaxed) > TUTTI_SLOT_GONE)
        i = (i + 1) & (table->slots - 1);
    table->used += atomic_load_explicit(&table->slot[i].key, memory_order_relaxed) == TUTTI_SLOT_FREE;
    atomic_store_explicit(&table->slot[i].comm, comm, memory_order_release);
    atomic_store_explicit(&table->slot[i].key, key, memory_order_release);
}

/* A table with room, under the lock; NULL without memory. */
static struct tutti_comm_table *comms_roomy(void)
{
    struct tutti_comm_table *old = atomic_load(&tutti_comm_table);
    if (old && old->used < old->slots / 2)
        return old;
    size_t live = 0, slots = FIRST_SLOTS;
    for (struct tutti_comm *c = all; c; c = c->next)
        live++;
    while (slots < live * 4)
        slots *= 2;
    struct tutti_comm_table *table = calloc(1, sizeof *table + slots * sizeof table->slot[0]);
    if (!table)
        return old && old->used + 1 < old->slots ? old : NULL;
    table->slots = slots;
    table->older = old;
    for (struct tutti_comm *c = all; c; c = c->next)
        comms_put(table, tutti_comm_key(c->handle), c);
    atomic_store_explicit(&tutti_comm_table, table, memory_order_release);
    return table;
}

static int comms_insert(struct tutti_comm *comm)
{
    static uint64_t numbers;
    pthread_mutex_lock(&lock);
    comm->number = ++numbers;
    struct tutti_comm_table *table = comms_roomy();
    if (table) {
        comms_put(table, tutti_comm_key(comm->handle), comm);
        comm->next = all;
        all = comm;
    }
    pthread_mutex_unlock(&lock);
    return table ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static void comms_release(struct tutti_comm *comm)
{
    told.leave(comm);
    if (told.over_nodes_free)
        told.over_nodes_free(comm->over_nodes);
    tutti_comm_hierarchy_end(comm);
    /* At the end the program has completed everything, and may have destroyed its streams. */
    int idle = told.close_stream(comm, closing);
    if (comm->team && idle)
        tutti_team_free(comm->team);
    free(comm);
}

static int comms_on_delete(MPI_Comm handle, int key, void *value, void *extra)
{
    (void)handle;
    (void)extra;
    struct tutti_comm *comm = NULL;
    if (key != keyval) /* of a door that was shut; its communicators' states are freed */
        return MPI_SUCCESS;
    if (!closing)
        told.leave(value); /* its calls are still to find it */
    pthread_mutex_lock(&lock);
    struct tutti_comm_table *table = atomic_load(&tutti_comm_table);
    for (struct tutti_comm **at = &all; !closing && *at; at = &(*at)->next) {
        if (*at == value) {
            comm = *at;
            *at = comm->next;
            break;
        }
    }
    for (size_t i = comm ? tutti_hash(tutti_comm_key(comm->handle), table->slots) : 0;
         comm && atomic_load(&table->slot[i].key) != TUTTI_SLOT_FREE; i = (i + 1) & (table->slots - 1)) {
        if (atomic_load(&table->slot[i].comm) == comm) {
            atomic_store(&table->slot[i].comm, NULL);
            atomic_store(&table->slot[i].key, TUTTI_SLOT_GONE);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (comm)
        comms_release(comm);
    return MPI_SUCCESS;
}

static int comms_on_copy(MPI_Comm handle, int key, void *extra, void *in, void *out, int *flag)
{
    (void)handle;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0; /* a duplicate is another communicator */
    return MPI_SUCCESS;
}

static struct tutti_comm *comms_make(MPI_Comm handle, int wait)
{
    TUTTI_INSIDE();
    int inter;
    if (handle == tutti_handles.no_comm || tutti_next.MPI_Comm_test_inter(handle, &inter) != MPI_SUCCESS)
        return NULL;
    struct tutti_comm *comm = tutti_reserve_take(&states, sizeof *comm);
    if (!comm)
        return NULL;
    comm->handle = handle;
    tutti_transport_over(&comm->transport, handle);
    if (inter)
        comm->passed = "intercommunicator";
    else if (!tutti_door.node)
        comm->passed = "the ranks of this machine are not connected";
    else
        tutti_comm_team(comm, wait);
    if (comms_insert(comm) != TUTTI_OK) {
        comms_release(comm);
        return NULL;
    }
    tutti_next.MPI_Comm_set_attr(handle, keyval, comm);
    return comm;
}

struct tutti_comm *tutti_comm_make(MPI_Comm handle)
{
    return comms_make(handle, 1);
}

struct tutti_comm *tutti_comm_begin(MPI_Comm handle)
{
    return comms_make(handle, 0);
}

void tutti_comms_connect(struct tutti_team *team, int gpu)
{
    if (told.connect)
        told.connect(team, gpu);
}

struct tutti_over_nodes *tutti_comms_over_nodes(int ranks)
{
    return told.over_nodes ? told.over_nodes(ranks) : NULL;
}

const char *tutti_comms_stream_proxy(struct tutti_comm *comm, const struct tutti_mpix_stream *stream)
{
    return told.stream_proxy ? told.stream_proxy(comm, stream) : comm->team->why;
}

int tutti_comms_open(const struct tutti_comm_users *users)
{
    told = *users;
    closing = 0;
    free(tutti_reserve_take(&states, sizeof(struct tutti_comm))); /* the first one is made when there may be no more */
    pthread_mutex_lock(&lock);
    (void)comms_roomy();
    pthread_mutex_unlock(&lock);
    return tutti_next.MPI_Comm_create_keyval(comms_on_copy, comms_on_delete, &keyval, NULL) == MPI_SUCCESS
               ? TUTTI_OK
               : TUTTI_ERR_TRANSPORT;
}

int tutti_comms_broken(void)
{
    int broken = 0;
    pthread_mutex_lock(&lock);
    for (struct tutti_comm *c = all; c; c = c->next)
        broken |= c->failed != TUTTI_OK ||
                  (c->team && (c->team->state == TUTTI_TEAM_BROKEN ||
                               (c->team->nonblocking && c->team->nonblocking->state == TUTTI_TEAM_BROKEN))) ||
                  (c->hierarchy && (c->hierarchy->team->state == TUTTI_TEAM_BROKEN ||
                                    c->hierarchy->team->nonblocking->state == TUTTI_TEAM_BROKEN));
    pthread_mutex_unlock(&lock);
    return broken;
}

int tutti_comms_have_stream(void)
{
    int have = 0;
    pthread_mutex_lock(&lock);
    for (const struct tutti_comm *c = all; c; c = c->next)
        have |= c->stream != NULL;
    pthread_mutex_unlock(&lock);
    return have;
}

int tutti_comms_stream_fault(const struct tutti_mpix_stream *stream)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&lock);
    for (struct tutti_comm *c = all; c && status == TUTTI_OK; c = c->next) {
        if (c->stream == stream && c->proxy)
            status = atomic_load(&c->proxy->failed);
        else if (c->stream == stream && c->team && c->team->size > 1)
            status = tutti_team_fault(c->team);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* 1 if no team is being made; communicators neither come nor go in MPI_Finalize. */
static int all_are_ready(void *unused)
{
    int ready = 1;
    (void)unused;
    for (struct tutti_comm *c = all; c; c = c->next)
        ready &= !atomic_load(&c->opening) || tutti_comm_ready(c, 0);
    return ready;
}

void tutti_comms_settle(void)
{
    tutti_progress_wait(&(const struct tutti_wait){.done = all_are_ready, .seconds = SETTLE_SECONDS});
}

void tutti_comms_close(void)
{
    tutti_reserve_close(&states);
    pthread_mutex_lock(&lock);
    closing = 1; /* attributes of predefined communicators are deleted later, by MPI_Finalize */
    struct tutti_comm *comm = all;
    all = NULL;
    struct tutti_comm_table *table = atomic_exchange(&tutti_comm_table, NULL);
    pthread_mutex_unlock(&lock);
    while (comm) {
        struct tutti_comm *next = comm->next;
        comms_release(comm);
        comm = next;
    }
    while (table) {
        struct tutti_comm_table *older = table->older;
        free(table);
        table = older;
    }
    tutti_contexts_free(tutti_comm_contexts);
    tutti_comm_contexts = NULL;
    tutti_next.MPI_Comm_free_keyval(&keyval);
}

/* After fork: the child may not use it, nor notify peers. */
void tutti_comms_forget(void)
{
    atomic_store(&tutti_comm_table, NULL);
    all = NULL;
    closing = 1;
}
