/* State of communicators, found by handle without a lock: open addressing over atomic words, written under a mutex. An
 * entry leaves through the delete callback of an attribute, so that a handle that the MPI uses again finds nothing. */
#include "mpi/door.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/reserve.h"
#include "mpi/held.h"
#include "mpi/lanes.h"
#include "mpi/nonblocking.h"
#include "mpi/streams.h"
#include "progress/engine.h"

enum { FIRST_SLOTS = 256 };

_Atomic(struct tutti_comm_table *) tutti_comm_table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_comm *all;
static pthread_mutex_t opening_lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval, closing;
static struct tutti_reserve states; /* who had none would not take part in the making of a team */

static void put(struct tutti_comm_table *table, uint64_t key, struct tutti_comm *comm)
{
    size_t i = tutti_hash(key, table->slots);
    while (atomic_load_explicit(&table->slot[i].key, memory_order_relaxed) > TUTTI_SLOT_GONE)
        i = (i + 1) & (table->slots - 1);
    table->used += atomic_load_explicit(&table->slot[i].key, memory_order_relaxed) == TUTTI_SLOT_FREE;
    atomic_store_explicit(&table->slot[i].comm, comm, memory_order_release);
    atomic_store_explicit(&table->slot[i].key, key, memory_order_release);
}

/* A table with room, under the lock; NULL without memory. */
static struct tutti_comm_table *roomy(void)
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
        put(table, tutti_comm_key(c->handle), c);
    atomic_store_explicit(&tutti_comm_table, table, memory_order_release);
    return table;
}

static int insert(struct tutti_comm *comm)
{
    pthread_mutex_lock(&lock);
    struct tutti_comm_table *table = roomy();
    if (table) {
        put(table, tutti_comm_key(comm->handle), comm);
        comm->next = all;
        all = comm;
    }
    pthread_mutex_unlock(&lock);
    return table ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static void release(struct tutti_comm *comm)
{
    tutti_nonblocking_leave(comm);
    /* At the end the program has completed everything, and may have destroyed its streams. */
    int idle = tutti_comm_stream_close(comm, closing);
    if (comm->team && idle)
        tutti_team_free(comm->team);
    free(comm);
}

static int on_delete(MPI_Comm handle, int key, void *value, void *extra)
{
    (void)handle;
    (void)key;
    (void)extra;
    struct tutti_comm *comm = NULL;
    if (!closing)
        tutti_nonblocking_leave(value); /* its calls are still to find it */
    pthread_mutex_lock(&lock);
    struct tutti_comm_table *table = atomic_load(&tutti_comm_table);
    for (struct tutti_comm **at = &all; !closing && *at; at = &(*at)->next) {
        if (*at == value) {
            comm = *at;
            *at = comm->next;
            break;
        }
    }
    for (size_t i = 0; comm && i < table->slots; i++) {
        if (atomic_load(&table->slot[i].comm) == comm) {
            atomic_store(&table->slot[i].comm, NULL);
            atomic_store(&table->slot[i].key, TUTTI_SLOT_GONE);
        }
    }
    pthread_mutex_unlock(&lock);
    if (comm)
        release(comm);
    return MPI_SUCCESS;
}

static int on_copy(MPI_Comm handle, int key, void *extra, void *in, void *out, int *flag)
{
    (void)handle;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0; /* a duplicate is another communicator */
    return MPI_SUCCESS;
}

/* Ranks on several nodes do not have to meet: who has started a nonblocking call may be inside a blocking one of the
 * MPI before the others have started it. */
static void team_apart(struct tutti_comm *comm)
{
    comm->team = tutti_team_apart(tutti_door.node, &comm->transport.base, "ranks on several nodes");
    if (!comm->team) {
        comm->passed = "no memory for a team";
        comm->alone = 1;
    }
}

static void make_team(struct tutti_comm *comm)
{
    int status = tutti_team_create(tutti_door.node, &comm->transport.base, &comm->team);
    if (status == TUTTI_ERR_PEER) {
        comm->failed = status; /* the MPI would wait for the dead process */
    } else if (status != TUTTI_OK) {
        comm->passed = "no team could be made";
        comm->alone = 1;
        tutti_warn("reductions on %s are passed on to the MPI: no team could be made", comm->transport.base.label);
    }
}

/* Room for the exchange of one communicator at a time, where there is no memory: who stayed away would leave the others
 * in it. */
static struct tutti_comm_opening reserve;
static char reserve_tickets[TUTTI_TICKET_BYTES * TUTTI_MAX_RANKS];
static atomic_int reserved;

static void free_opening(struct tutti_comm_opening *opening)
{
    if (opening == &reserve) {
        atomic_store_explicit(&reserved, 0, memory_order_release);
        return;
    }
    free(opening->tickets);
    free(opening);
}

static int reserve_is_mine(void *unused)
{
    int none = 0;
    (void)unused;
    return atomic_compare_exchange_strong(&reserved, &none, 1);
}

static struct tutti_comm_opening *new_opening(int size)
{
    struct tutti_comm_opening *opening = calloc(1, sizeof *opening);
    char *tickets = malloc(TUTTI_TICKET_BYTES * (size_t)size);
    if (opening && tickets) {
        opening->tickets = tickets;
        return opening;
    }
    free(opening);
    free(tickets);
    tutti_progress_wait(&(const struct tutti_wait){.done = reserve_is_mine});
    reserve = (struct tutti_comm_opening){.tickets = reserve_tickets};
    return &reserve;
}

/* The exchange of tickets alone takes the other ranks. */
static void begin_team(struct tutti_comm *comm)
{
    const int size = comm->transport.base.size;
    if (size > TUTTI_MAX_RANKS || size == 1) {
        make_team(comm);
        return;
    }
    struct tutti_comm_opening *opening = new_opening(size);
    if (tutti_team_begin(tutti_door.node, &comm->transport.base, opening->mine, &opening->team) != TUTTI_OK)
        opening->team = NULL;
    opening->request = tutti_handles.no_request;
    if (tutti_real.MPI_Iallgather(opening->mine, TUTTI_TICKET_BYTES, tutti_handles.byte, opening->tickets,
                                  TUTTI_TICKET_BYTES, tutti_handles.byte, comm->handle,
                                  &opening->request) != MPI_SUCCESS) {
        if (opening->team)
            tutti_team_abandon(opening->team, opening->mine);
        free_opening(opening);
        comm->failed = TUTTI_ERR_TRANSPORT;
        return;
    }
    atomic_store_explicit(&comm->opening, opening, memory_order_release);
}

/* opening_lock is held. */
static void end_team(struct tutti_comm *comm, int status)
{
    struct tutti_comm_opening *opening = atomic_load(&comm->opening);
    if (opening->team && status == TUTTI_OK) {
        tutti_team_join(opening->team, opening->tickets);
        comm->team = opening->team;
    } else if (status == TUTTI_OK) {
        comm->passed = "no memory for a team";
        comm->alone = 1;
    } else {
        comm->failed = status; /* the MPI may still use the tickets and, later, a peer the slots: they are lost */
        opening = NULL;
    }
    atomic_store_explicit(&comm->opening, NULL, memory_order_release);
    if (opening)
        free_opening(opening);
}

/* One thread at a time ends it; others, and waits below a test, find it open or ended. 1: ended. */
static int is_ready(void *with)
{
    struct tutti_comm *comm = with;
    int flag = 0;
    if (!atomic_load_explicit(&comm->opening, memory_order_acquire))
        return 1;
    if (pthread_mutex_trylock(&opening_lock) != 0)
        return 0;
    struct tutti_comm_opening *opening = atomic_load_explicit(&comm->opening, memory_order_acquire);
    if (opening && tutti_real.MPI_Test(&opening->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        end_team(comm, TUTTI_ERR_TRANSPORT);
    else if (opening && flag)
        end_team(comm, TUTTI_OK);
    pthread_mutex_unlock(&opening_lock);
    return !atomic_load_explicit(&comm->opening, memory_order_acquire);
}

void tutti_comm_hold(struct tutti_comm *comm)
{
    (void)comm;
    pthread_mutex_lock(&opening_lock);
}

void tutti_comm_let_go(struct tutti_comm *comm)
{
    (void)comm;
    pthread_mutex_unlock(&opening_lock);
}

struct tutti_team *tutti_comm_early(struct tutti_comm *comm)
{
    pthread_mutex_lock(&opening_lock);
    struct tutti_comm_opening *opening = atomic_load(&comm->opening);
    struct tutti_team *team = opening ? opening->team : NULL;
    pthread_mutex_unlock(&opening_lock);
    return team;
}

int tutti_comm_ready(struct tutti_comm *comm, int wait)
{
    TUTTI_INSIDE();
    if (!wait || is_ready(comm))
        return is_ready(comm);
    char what[160];
    snprintf(what, sizeof what, "not all ranks have arrived at a reduction on %s, where they meet for the first time",
             comm->transport.base.label);
    int status =
        tutti_progress_wait(&(const struct tutti_wait){.done = is_ready, .with = comm, .what = what, .watched = 1});
    if (status != TUTTI_OK) {
        pthread_mutex_lock(&opening_lock);
        if (atomic_load(&comm->opening))
            end_team(comm, status);
        pthread_mutex_unlock(&opening_lock);
    }
    return 1;
}

static void team_of(struct tutti_comm *comm, void (*team)(struct tutti_comm *comm))
{
    switch (tutti_whose(comm->handle)) {
    case TUTTI_OURS:
        team(comm);
        break;
    case TUTTI_OF_NODES:
        team_apart(comm);
        break;
    default:
        comm->passed = "ranks of another MPI_COMM_WORLD";
    }
}

static struct tutti_comm *make(MPI_Comm handle, void (*team)(struct tutti_comm *comm))
{
    TUTTI_INSIDE();
    int inter;
    if (handle == tutti_handles.no_comm || tutti_real.MPI_Comm_test_inter(handle, &inter) != MPI_SUCCESS)
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
        team_of(comm, team);
    if (insert(comm) != TUTTI_OK) {
        release(comm);
        return NULL;
    }
    tutti_real.MPI_Comm_set_attr(handle, keyval, comm);
    return comm;
}

struct tutti_comm *tutti_comm_make(MPI_Comm handle)
{
    return make(handle, make_team);
}

struct tutti_comm *tutti_comm_begin(MPI_Comm handle)
{
    return make(handle, begin_team);
}

int tutti_comms_open(void)
{
    free(tutti_reserve_take(&states, sizeof(struct tutti_comm))); /* the first one is made when there may be no more */
    pthread_mutex_lock(&lock);
    (void)roomy();
    pthread_mutex_unlock(&lock);
    return tutti_real.MPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL) == MPI_SUCCESS ? TUTTI_OK
                                                                                               : TUTTI_ERR_TRANSPORT;
}

int tutti_comms_broken(void)
{
    int broken = 0;
    pthread_mutex_lock(&lock);
    for (struct tutti_comm *c = all; c; c = c->next)
        broken |= c->failed != TUTTI_OK || (c->team && (c->team->state == TUTTI_TEAM_BROKEN ||
                                                        (c->team->twin && c->team->twin->state == TUTTI_TEAM_BROKEN)));
    pthread_mutex_unlock(&lock);
    return broken;
}

int tutti_comms_stream_fault(const struct tutti_mpix_stream *stream)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&lock);
    for (struct tutti_comm *c = all; c && status == TUTTI_OK; c = c->next) {
        if (c->stream == stream && c->team && c->team->size > 1)
            status = tutti_team_fault(c->team);
    }
    pthread_mutex_unlock(&lock);
    return status;
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
        release(comm);
        comm = next;
    }
    while (table) {
        struct tutti_comm_table *older = table->older;
        free(table);
        table = older;
    }
    tutti_real.MPI_Comm_free_keyval(&keyval);
}

/* After fork: nothing of it may be used or told to anybody. */
void tutti_comms_forget(void)
{
    atomic_store(&tutti_comm_table, NULL);
    all = NULL;
    closing = 1;
}

/* What has failed in the communicator's stream is said while its error handler is there; it is freed all the same. */
static int before_free(MPI_Comm *comm)
{
    int status = TUTTI_OK;
    if (tutti_inside)
        return TUTTI_OK;
    if (comm) {
        tutti_nonblocking_before_free(*comm);
        status = tutti_comm_stream_settle(*comm);
    }
    tutti_lanes_comm_freed();
    if (comm && tutti_held_on())
        tutti_held_forget(*comm);
    if (status == TUTTI_OK)
        return MPI_SUCCESS;
    tutti_error("MPI_Comm_free: calls in the communicator's stream have failed: %s", tutti_status_text(status));
    return tutti_fail_comm(*comm, tutti_error_code(status));
}

int tutti_door_MPI_Comm_free(MPI_Comm *comm)
{
    int failed = before_free(comm), code = tutti_real.MPI_Comm_free(comm);
    return code != MPI_SUCCESS ? code : failed;
}

int tutti_door_MPI_Comm_disconnect(MPI_Comm *comm)
{
    int failed = before_free(comm), code = tutti_real.MPI_Comm_disconnect(comm);
    return code != MPI_SUCCESS ? code : failed;
}
