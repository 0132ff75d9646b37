#include "team/deferred_free.h"

#include <stdlib.h>

#include "device/device.h"
#include "team/cache.h"
#include "team/node.h"

struct tutti_deferred_free {
    struct tutti_deferred_free *next;
    void *memory;
    struct tutti_prepared *kept;
};

/* A node knows its device from the first team or endpoint on; memory is taken without either, too. */
static const struct tutti_device *deferred_free_device(const struct tutti_node *node)
{
    return node->device ? node->device : tutti_device();
}

static void deferred_free_end(struct tutti_node *node, void *memory, struct tutti_prepared *kept)
{
    if (memory)
        deferred_free_device(node)->memory.free(memory);
    if (kept)
        deferred_free_device(node)->launch.drop(kept);
}

static void deferred_free_add(struct tutti_node *node, void *memory, struct tutti_prepared *kept)
{
    struct tutti_deferred_free *aside = NULL;
    tutti_fiber_lock(&node->lock);
    if (atomic_load(&node->streams) > 0 && (aside = malloc(sizeof *aside)) != NULL) {
        *aside = (struct tutti_deferred_free){node->deferred_frees, memory, kept};
        node->deferred_frees = aside;
    }
    pthread_mutex_unlock(&node->lock);
    if (!aside)
        deferred_free_end(node, memory, kept);
}

void tutti_deferred_free_memory(struct tutti_node *node, void *device_memory)
{
    if (device_memory)
        deferred_free_add(node, device_memory, NULL);
}

void tutti_deferred_free_launch(struct tutti_node *node, struct tutti_prepared *kept)
{
    if (kept)
        deferred_free_add(node, NULL, kept);
}

void tutti_deferred_free_hold(struct tutti_node *node)
{
    tutti_cache_hold(node->cache, 1);
    atomic_fetch_add(&node->streams, 1);
}

void tutti_deferred_free_release(struct tutti_node *node)
{
    const struct tutti_device *const device = deferred_free_device(node);
    tutti_cache_hold(node->cache, -1);
    if (atomic_fetch_sub(&node->streams, 1) != 1 || !tutti_device_active(device))
        return;
    tutti_cache_unmap_held(node->cache, device);
    tutti_deferred_free_end(node, 1);
}

int tutti_deferred_free_streams(const struct tutti_node *node)
{
    return atomic_load_explicit(&node->streams, memory_order_relaxed);
}

int tutti_deferred_free_held(const struct tutti_node *node)
{
    return tutti_deferred_free_streams(node) > 0;
}

int tutti_deferred_free_may_map(const struct tutti_node *node)
{
    const struct tutti_device *const device = deferred_free_device(node);
    return !tutti_deferred_free_held(node) || (device && device->share.maps_beside && device->share.maps_beside());
}

void tutti_deferred_free_kernels(struct tutti_node *node, int more)
{
    atomic_fetch_add(&node->kernels, more);
}

int tutti_deferred_free_may_wait(const struct tutti_node *node)
{
    return atomic_load_explicit(&node->kernels, memory_order_relaxed) > 0;
}

int tutti_deferred_free_may_load(const struct tutti_node *node)
{
    return !tutti_deferred_free_held(node) && !tutti_deferred_free_may_wait(node);
}

void tutti_deferred_free_end(struct tutti_node *node, int alive)
{
    tutti_fiber_lock(&node->lock);
    struct tutti_deferred_free *all = node->deferred_frees;
    node->deferred_frees = NULL;
    pthread_mutex_unlock(&node->lock);
    while (all) {
        struct tutti_deferred_free *next = all->next;
        if (alive)
            deferred_free_end(node, all->memory, all->kept);
        free(all);
        all = next;
    }
}
