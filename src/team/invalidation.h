/* Allocations that peers have mapped and that their owner has freed: the memory is the machine's again when all have
 * let go of it. The owner notices, and publishes it to its peers by a list in its control page; they unmap what they do
 * not use. Nothing depends on it but memory: ids do not come again. Private to team/; safe from any thread. */
#ifndef TUTTI_TEAM_GONE_H
#define TUTTI_TEAM_GONE_H

#include "team/node.h"

/* Owner: looks which of the allocations that it has named are gone: at all of them, or at the next `few`. */
void tutti_invalidation_look(struct tutti_node *node, const struct tutti_device *device, unsigned few);
/* Peer: unmaps the allocations named in notices. */
void tutti_invalidation_read(struct tutti_node *node, const struct tutti_device *device);

/* Both, if there is something: two loads otherwise. */
static inline void tutti_invalidation_poll(struct tutti_node *node, const struct tutti_device *device)
{
    if (atomic_load_explicit(&tutti_device_frees, memory_order_relaxed) !=
        atomic_load_explicit(&node->frees, memory_order_relaxed))
        tutti_invalidation_look(node, device, 0);
    if (atomic_load_explicit(&tutti_node_control(node)->invalidations.notices, memory_order_relaxed) != 0 &&
        atomic_load_explicit(&node->kernels, memory_order_relaxed) == 0) /* later: unmapping may wait for kernels */
        tutti_invalidation_read(node, device);
}

#endif
