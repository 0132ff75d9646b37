/* Memory of a rank that kernels of a peer store into: the owner names it in a message of its own, and the peer maps it
 * as it maps the memory of messages. */
#include "core/log.h"
#include "team/cache.h"
#include "team/endpoint/endpoint_own.h"
#include "team/share.h"

int tutti_endpoint_show(struct tutti_endpoint *endpoint, int peer, const void *pointer, uint64_t id, int gpu,
                        struct tutti_share *out)
{
    *out = (struct tutti_share){.shared = 0};
    if (tutti_endpoint_use(endpoint, gpu) < 0)
        return 0;
    if (tutti_endpoint_is_own(endpoint, peer))
        *out = (struct tutti_share){.shared = 1, .offset = (uint64_t)(uintptr_t)pointer};
    else
        tutti_share_name(endpoint->node, endpoint->device, pointer, id, out);
    return (int)out->shared;
}

enum tutti_reaching tutti_endpoint_put(struct tutti_endpoint *endpoint, int peer, const struct tutti_share *share,
                                       int owner, int gpu, uint64_t bytes, char **data, struct tutti_mapping **held)
{
    *held = NULL;
    if (!share->shared)
        return TUTTI_REACH_NOT;
    if (tutti_endpoint_is_own(endpoint, peer)) { /* other GPUs of the process are left to the engine */
        *data = (char *)(uintptr_t)share->offset;
        return owner < 0 || owner == gpu ? TUTTI_REACHED : TUTTI_REACH_NOT;
    }
    tutti_fiber_take(&endpoint->lock);
    const enum tutti_reaching there = tutti_endpoint_map_named(endpoint, peer, gpu, &share->what, held);
    tutti_lock_give(&endpoint->lock);
    if (there != TUTTI_REACHED)
        return there;
    const uint64_t room = (*held)->what.bytes;
    if ((*held)->doomed || share->offset > room || bytes > room - share->offset) {
        tutti_debug("rank %d shows memory that it does not have", tutti_node_world(endpoint->node, peer));
        tutti_endpoint_release(endpoint, *held);
        *held = NULL;
        return TUTTI_REACH_NOT;
    }
    *data = (char *)(*held)->base + share->offset;
    return TUTTI_REACHED;
}
