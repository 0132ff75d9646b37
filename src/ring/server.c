#include "ring/server.h"

#include "core/log.h"
#include "core/status.h"

enum { BATCH = 256, LOOKS = 1024 }; /* requests of a round; idle rounds between looks for dead processes */

int tutti_ring_server_register(struct tutti_ring_server *server, const struct tutti_ring_user *user)
{
    if (server->users == TUTTI_RING_USERS)
        return TUTTI_ERR_ARGUMENT;
    const int status = tutti_ring_register(&server->ring, user->first, user->operations, user->count, user->user);
    if (status == TUTTI_OK)
        server->user[server->users++] = *user;
    return status;
}

/* ---- rounds ---- */

static int begin_requests(struct tutti_ring_server *server)
{
    struct tutti_ring *const ring = &server->ring;
    const int status = tutti_ring_poll(ring, BATCH);
    const struct tutti_ring_request *const request = &ring->request[ring->consumed & (ring->slots - 1)];
    if (status < 0 && !tutti_ring_name(ring, request)) /* of registered ones the user writes the message */
        tutti_error("a kernel of %s asked for operation %u of the ring, which does not exist", server->owner.name,
                    (unsigned)request->operation);
    return status;
}

static int advance_users(struct tutti_ring_server *server)
{
    int ended = 0;
    for (int i = 0; i < server->users; i++) {
        const struct tutti_ring_user *const user = &server->user[i];
        const int done = user->poll ? user->poll(user->user) : 0;
        if (done < 0)
            return done;
        ended += done;
    }
    return ended;
}

/* Where a process that kernels may wait for has died, none of their waits ends. */
static int look_for_dead(struct tutti_ring_server *server)
{
    const struct tutti_ring_owner *const owner = &server->owner;
    const int dead = owner->dead && ++server->looks % LOOKS == 0 ? owner->dead(owner->owner) : 0;
    if (dead)
        tutti_error("process %d has died, and kernels of %s may wait for it", dead, owner->name);
    return dead ? TUTTI_ERR_PEER : TUTTI_OK;
}

static int end_ring(struct tutti_ring_server *server, int status)
{
    __atomic_store_n(server->owner.abort, 1, __ATOMIC_RELEASE);
    if (server->owner.ended)
        server->owner.ended(server->owner.owner, status);
    return status;
}

int tutti_ring_server_poll(void *with)
{
    struct tutti_ring_server *const server = with;
    if (__atomic_load_n(server->owner.abort, __ATOMIC_RELAXED))
        return TUTTI_ERR_BROKEN;
    const int begun = begin_requests(server);
    int status = begun == 0 ? look_for_dead(server) : begun;
    if (status >= 0)
        status = advance_users(server);
    return status < 0 ? end_ring(server, status) : begun + status;
}
