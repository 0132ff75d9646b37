#include "mpi/enqueue/landings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "p2p/lanes.h"

/* The lanes end it. */
struct tutti_landing {
    struct tutti_landing *next;
    const struct tutti_lanes *lanes;
    struct tutti_bounce *pinned;
    void *to;
    size_t most;
    int op;
    int captured;    /* 1: a graph may call it again */
    atomic_int used; /* 1: the stream has not passed it */
};

static struct tutti_landing *landings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void landing_drop(void *memory)
{
    struct tutti_landing *const landing = memory;
    struct tutti_landing **at = &landings;
    pthread_mutex_lock(&lock);
    while (*at && *at != landing)
        at = &(*at)->next;
    if (*at)
        *at = landing->next;
    pthread_mutex_unlock(&lock);
    tutti_bounce_give(landing->pinned);
    free(landing);
}

/* One that no stream uses, with room enough. */
static struct tutti_landing *landing_find(const struct tutti_lanes *lanes, size_t bytes)
{
    pthread_mutex_lock(&lock);
    struct tutti_landing *one = landings;
    while (one && (one->lanes != lanes || one->captured || one->pinned->room < bytes ||
                   atomic_load_explicit(&one->used, memory_order_acquire)))
        one = one->next;
    if (one)
        atomic_store(&one->used, 1);
    pthread_mutex_unlock(&lock);
    return one;
}

static struct tutti_landing *landing_new(struct tutti_lanes *lanes, size_t bytes)
{
    struct tutti_landing *const made = calloc(1, sizeof *made);
    if (made)
        made->pinned = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    if (!made || !made->pinned || tutti_lanes_keep(lanes, landing_drop, made) != TUTTI_OK) {
        tutti_bounce_give(made ? made->pinned : NULL);
        free(made);
        return NULL;
    }
    made->lanes = lanes;
    atomic_init(&made->used, 1);
    pthread_mutex_lock(&lock);
    made->next = landings;
    landings = made;
    pthread_mutex_unlock(&lock);
    return made;
}

int tutti_landing_take(struct tutti_comm *comm, void *to, size_t most, struct tutti_landing **out, void **memory)
{
    const int captured = tutti_door.device->stream.capturing(comm->stream->stream);
    if (captured < 0)
        return captured;
    struct tutti_landing *landing = landing_find(comm->lanes, most);
    if (!landing && !(landing = landing_new(comm->lanes, most)))
        return TUTTI_ERR_MEMORY;
    landing->captured = captured;
    landing->to = to;
    landing->most = most;
    *out = landing;
    *memory = landing->pinned->memory;
    return TUTTI_OK;
}

/* On a thread of the device. A shorter message leaves the rest as it is. */
static void landing_copy(void *with)
{
    struct tutti_landing *const landing = with;
    const size_t bytes = tutti_lanes_reports(landing->lanes)[landing->op].bytes;
    memcpy(landing->to, landing->pinned->memory, bytes < landing->most ? bytes : landing->most);
    atomic_store_explicit(&landing->used, 0, memory_order_release);
}

int tutti_landing_enqueue(const struct tutti_comm *comm, struct tutti_landing *landing, int op)
{
    landing->op = op;
    return tutti_door.device->stream.call(comm->stream->stream, landing_copy, landing);
}

void tutti_landing_give(struct tutti_landing *landing)
{
    if (landing)
        atomic_store_explicit(&landing->used, 0, memory_order_release);
}
