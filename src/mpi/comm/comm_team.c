/* The team of a communicator: made at once, or begun without waiting and completed when all ranks' records have
 * arrived.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/real/door.h"
#include "progress/engine.h"

static pthread_mutex_t opening_lock = PTHREAD_MUTEX_INITIALIZER;

/* Ranks on several nodes do not have to meet: a rank that has started a nonblocking call may be inside a blocking call
 * of the MPI before the others have started theirs. */
static void team_apart(struct tutti_comm *comm)
{
    comm->team = tutti_team_apart(tutti_door.node, &comm->transport.base, "ranks on several nodes");
    comm->over_nodes = tutti_comms_over_nodes(comm->transport.base.size);
    if (!comm->team) {
        comm->passed = TUTTI_REASON_TEXT(MEMORY);
        comm->alone = 1;
    }
}

static void set_release(struct tutti_comm *comm)
{
    tutti_team_on_release(comm->team, tutti_comm_release, comm);
}

static void make_team(struct tutti_comm *comm)
{
    int status = tutti_team_create(tutti_door.node, &comm->transport.base, &comm->team);
    if (status == TUTTI_ERR_PEER) {
        comm->failed = status; /* the MPI would wait for the dead process */
    } else if (status != TUTTI_OK) {
        comm->passed = TUTTI_REASON_TEXT(TEAM);
        comm->alone = 1;
        tutti_warn("reductions on %s are passed on to the MPI: no team could be made", comm->transport.base.label);
    } else {
        set_release(comm);
    }
}

/* Room for the exchange of one communicator at a time, used if there is no memory: a rank that stays away would leave
 * the others waiting in the exchange. */
static union {
    struct tutti_comm_opening opening;
    char room[sizeof(struct tutti_comm_opening) + TUTTI_EXCHANGE_BYTES * TUTTI_MAX_RANKS];
} reserve;
static atomic_int reserved;

static void comm_team_free_opening(struct tutti_comm_opening *opening)
{
    if (opening == &reserve.opening)
        atomic_store_explicit(&reserved, 0, memory_order_release);
    else
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
    struct tutti_comm_opening *opening = malloc(sizeof *opening + TUTTI_EXCHANGE_BYTES * (size_t)size);
    if (!opening) {
        tutti_progress_wait(&(const struct tutti_wait){.done = reserve_is_mine});
        opening = &reserve.opening;
    }
    memset(opening, 0, sizeof *opening);
    return opening;
}

/* The exchange of records alone takes the other ranks. */
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
    struct tutti_transport *const transport = &comm->transport.base;
    if (transport->ops->iallgather(transport, opening->mine, opening->exchanges, TUTTI_EXCHANGE_BYTES,
                                   &opening->pending) != TUTTI_OK) {
        if (opening->team)
            tutti_team_abandon(opening->team, opening->mine);
        comm_team_free_opening(opening);
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
        tutti_team_join(opening->team, opening->exchanges);
        comm->team = opening->team;
        set_release(comm);
    } else if (status == TUTTI_OK) {
        comm->passed = TUTTI_REASON_TEXT(MEMORY);
        comm->alone = 1;
    } else {
        comm->failed = status; /* the MPI may still use the records and, later, a peer the slots: they are lost */
        opening = NULL;
    }
    atomic_store_explicit(&comm->opening, NULL, memory_order_release);
    if (opening)
        comm_team_free_opening(opening);
}

/* One thread at a time ends it; others, and waits below a test, find it open or ended. 1: ended. */
static int comm_team_is_ready(void *with)
{
    struct tutti_comm *comm = with;
    struct tutti_transport *const transport = &comm->transport.base;
    int flag = 0;
    if (!atomic_load_explicit(&comm->opening, memory_order_acquire))
        return 1;
    if (pthread_mutex_trylock(&opening_lock) != 0)
        return 0;
    struct tutti_comm_opening *opening = atomic_load_explicit(&comm->opening, memory_order_acquire);
    if (opening && transport->ops->pending_test(transport, &opening->pending, &flag) != TUTTI_OK)
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

void tutti_comm_unlend(struct tutti_comm *comm)
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

void tutti_comm_announce(struct tutti_comm *comm, struct tutti_team *team, enum tutti_collective collective, int type,
                         int op, uint64_t count, uint64_t detail)
{
    tutti_comm_hold(comm);
    if (team->size > 1 && team->slot[team->rank] && team->state != TUTTI_TEAM_BROKEN &&
        (atomic_load(&comm->opening) || team->whole))
        tutti_team_announce(team, collective, type, op, count, detail);
    else if (team->size > 1 && team->state == TUTTI_TEAM_BROKEN)
        tutti_team_leave(team);
    tutti_comm_unlend(comm);
}

int tutti_comm_ready(struct tutti_comm *comm, int wait)
{
    TUTTI_INSIDE();
    const int ready = comm_team_is_ready(comm);
    if (!wait || ready)
        return ready;
    char what[160];
    snprintf(what, sizeof what, "not all ranks have arrived at a reduction on %s, where they meet for the first time",
             comm->transport.base.label);
    int status = tutti_progress_wait(
        &(const struct tutti_wait){.done = comm_team_is_ready, .with = comm, .what = what, .watched = 1});
    if (status != TUTTI_OK) {
        pthread_mutex_lock(&opening_lock);
        if (atomic_load(&comm->opening))
            end_team(comm, status);
        pthread_mutex_unlock(&opening_lock);
    }
    return 1;
}

void tutti_comm_team(struct tutti_comm *comm, int wait)
{
    /* Its only rank is this process. */
    switch (comm->transport.base.size == 1 ? TUTTI_OURS : tutti_whose(comm->handle)) {
    case TUTTI_OURS:
        if (wait)
            make_team(comm);
        else
            begin_team(comm);
        break;
    case TUTTI_OF_NODES:
        team_apart(comm);
        break;
    default:
        comm->passed = TUTTI_REASON_TEXT(OTHER_WORLD);
    }
}
