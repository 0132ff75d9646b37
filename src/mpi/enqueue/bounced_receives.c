#include "mpi/enqueue/landings.h"

#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "p2p/lanes.h"

/* The lanes end it. Those that no graph may call again are in the communicator's list, which only its calls use. */
struct tutti_landing {
    struct tutti_landing *next;
    const struct tutti_lanes *lanes;
    struct tutti_bounce *pinned;
    void *to;
    size_t most;
    int op;
    atomic_int used; /* 1: the stream has not passed it */
};

static void landing_drop(void *memory)
{
    struct tutti_landing *const landing = memory;
    tutti_bounce_give(landing->pinned);
    free(landing);
}

/* One that the stream does not use, with room enough. captured: it leaves the list. */
static struct tutti_landing *landing_find(struct tutti_comm *comm, int captured, size_t bytes)
{
    struct tutti_landing **at = &comm->landings, *one;
    while ((one = *at) != NULL && (one->pinned->room < bytes || atomic_load_explicit(&one->used, memory_order_acquire)))
        at = &one->next;
    if (one && captured)
        *at = one->next;
    return one;
}

static struct tutti_landing *landing_new(struct tutti_comm *comm, int captured, size_t bytes)
{
    struct tutti_landing *const made = calloc(1, sizeof *made);
    if (made)
        made->pinned = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    if (!made || !made->pinned || tutti_lanes_keep(comm->lanes, landing_drop, made) != TUTTI_OK) {
        tutti_bounce_give(made ? made->pinned : NULL);
        free(made);
        return NULL;
    }
    made->lanes = comm->lanes;
    atomic_init(&made->used, 0);
    if (!captured) {
        made->next = comm->landings;
        comm->landings = made;
    }
    return made;
}

int tutti_landing_take(struct tutti_comm *comm, int captured, void *to, size_t most, struct tutti_landing **out,
                       void **memory)
{
    struct tutti_landing *landing = landing_find(comm, captured, most);
    if (!landing && !(landing = landing_new(comm, captured, most)))
        return TUTTI_ERR_MEMORY;
    atomic_store_explicit(&landing->used, 1, memory_order_relaxed);
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
