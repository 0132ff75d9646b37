#include "team/sharing.h"

#include <string.h>

#include "core/status.h"
#include "dtype/pack.h"

/* Of two ranks that begin at the same time at least one sees the other, and marks both. */
static void sharing_compare(struct tutti_node *node, struct tutti_present *own)
{
    for (int r = 0; r < node->size; r++) {
        struct tutti_present *theirs = node->peer[r].page->control->present;
        for (int i = 0; i < TUTTI_PRESENT_GPUS && r != node->rank && atomic_load(&theirs[i].there); i++) {
            if (memcmp(theirs[i].uuid, own->uuid, sizeof own->uuid) != 0)
                continue;
            atomic_store(&theirs[i].shared, 1);
            atomic_store(&own->shared, 1);
        }
    }
}

/* Publishes that this rank works on the GPU. Its entry; NULL: there are too many, or it has no UUID. */
static struct tutti_present *sharing_announce(struct tutti_node *node, const struct tutti_device *device, int gpu)
{
    struct tutti_present *own = NULL;
    pthread_mutex_lock(&node->lock);
    if (atomic_load(&node->present[gpu]) == 0) {
        const int i = node->presents;
        struct tutti_present *next = &tutti_node_control(node)->present[i];
        if (i < TUTTI_PRESENT_GPUS && device->gpu.uuid && device->gpu.uuid(gpu, next->uuid) == TUTTI_OK) {
            node->presents++;
            own = next;
            atomic_store(&own->there, 1);
            sharing_compare(node, own);
        }
        atomic_store(&node->present[gpu], own ? i + 1 : -1);
    }
    pthread_mutex_unlock(&node->lock);
    return own;
}

void tutti_sharing_look(struct tutti_node *node, const struct tutti_device *device, int gpu)
{
    if (gpu < 0 || gpu >= TUTTI_SHARING_GPUS || node->size < 2)
        return;
    const int i = atomic_load_explicit(&node->present[gpu], memory_order_relaxed);
    const struct tutti_present *own = i > 0    ? &tutti_node_control(node)->present[i - 1]
                                      : i == 0 ? sharing_announce(node, device, gpu)
                                               : NULL;
    if (own && atomic_load_explicit(&own->shared, memory_order_relaxed))
        tutti_few_share(gpu);
}
