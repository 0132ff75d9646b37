#include "mpi/enqueue/bounced_receives.h"

#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "p2p/lanes.h"

/* The lanes end it. Those that no graph may call again are in the communicator's list, which only its calls use. */
struct tutti_bounced_receive {
    struct tutti_bounced_receive *next;
    const struct tutti_lanes *lanes;
    struct tutti_bounce *pinned;
    void *to;
    size_t most;
    int op;
    atomic_int used; /* 1: the stream has not passed it */
};

static void bounced_receive_drop(void *memory)
{
    struct tutti_bounced_receive *const bounced = memory;
    tutti_bounce_give(bounced->pinned);
    free(bounced);
}

/* One that the stream does not use, with room enough. captured: it leaves the list. */
static struct tutti_bounced_receive *bounced_receive_find(struct tutti_comm *comm, int captured, size_t bytes)
{
    struct tutti_bounced_receive **at = &comm->bounced, *one;
    while ((one = *at) != NULL && (one->pinned->room < bytes || atomic_load_explicit(&one->used, memory_order_acquire)))
        at = &one->next;
    if (one && captured)
        *at = one->next;
    return one;
}

static struct tutti_bounced_receive *bounced_receive_new(struct tutti_comm *comm, int captured, size_t bytes)
{
    struct tutti_bounced_receive *const made = calloc(1, sizeof *made);
    if (made)
        made->pinned = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    if (!made || !made->pinned || tutti_lanes_keep(comm->lanes, bounced_receive_drop, made) != TUTTI_OK) {
        tutti_bounce_give(made ? made->pinned : NULL);
        free(made);
        return NULL;
    }
    made->lanes = comm->lanes;
    atomic_init(&made->used, 0);
    if (!captured) {
        made->next = comm->bounced;
        comm->bounced = made;
    }
    return made;
}

int tutti_bounced_receive_take(struct tutti_comm *comm, int captured, void *to, size_t most,
                               struct tutti_bounced_receive **out, void **memory)
{
    struct tutti_bounced_receive *bounced = bounced_receive_find(comm, captured, most);
    if (!bounced && !(bounced = bounced_receive_new(comm, captured, most)))
        return TUTTI_ERR_MEMORY;
    atomic_store_explicit(&bounced->used, 1, memory_order_relaxed);
    bounced->to = to;
    bounced->most = most;
    *out = bounced;
    *memory = bounced->pinned->memory;
    return TUTTI_OK;
}

/* On a thread of the device. A shorter message leaves the rest as it is. */
static void bounced_receive_copy(void *with)
{
    struct tutti_bounced_receive *const bounced = with;
    const size_t bytes = tutti_lanes_reports(bounced->lanes)[bounced->op].bytes;
    memcpy(bounced->to, bounced->pinned->memory, bytes < bounced->most ? bytes : bounced->most);
    atomic_store_explicit(&bounced->used, 0, memory_order_release);
}

int tutti_bounced_receive_enqueue(const struct tutti_comm *comm, struct tutti_bounced_receive *bounced, int op)
{
    bounced->op = op;
    return tutti_door.device->stream.call(comm->stream->stream, bounced_receive_copy, bounced);
}

void tutti_bounced_receive_give(struct tutti_bounced_receive *bounced)
{
    if (bounced)
        atomic_store_explicit(&bounced->used, 0, memory_order_release);
}
