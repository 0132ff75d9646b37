#include "team/invalidation.h"

#include "team/cache.h"
#include "team/exports.h"

static void invalidation_tell(struct tutti_node *node, const uint64_t ids[], unsigned n)
{
    struct tutti_invalidations *own = &tutti_node_control(node)->invalidations;
    uint32_t count = atomic_load_explicit(&own->count, memory_order_relaxed);
    for (unsigned i = 0; i < n; i++) {
        atomic_store_explicit(&own->id[count % TUTTI_GONE], ids[i], memory_order_release);
        atomic_store_explicit(&own->count, ++count, memory_order_release);
    }
    for (int r = 0; r < node->size; r++) {
        if (r != node->rank)
            atomic_fetch_add(&node->peer[r].page->control->invalidations.notices, 1);
    }
}

void tutti_invalidation_look(struct tutti_node *node, const struct tutti_device *device, unsigned few)
{
    uint64_t ids[TUTTI_GONE];
    if (pthread_mutex_trylock(&node->invalidating) != 0)
        return;
    const uint64_t frees = atomic_load(&tutti_device_frees);
    unsigned n = tutti_exports_gone(tutti_cache_exports(node->cache), device, few, ids, TUTTI_GONE);
    if (n)
        invalidation_tell(node, ids, n);
    if (n < TUTTI_GONE && !few) /* otherwise there may be more */
        atomic_store(&node->frees, frees);
    pthread_mutex_unlock(&node->invalidating);
}

/* A peer that missed notices because the list is full releases all mappings: it keeps them only for later use. */
static void invalidation_receive(struct tutti_node *node, const struct tutti_device *device, int r)
{
    struct tutti_invalidations *theirs = &node->peer[r].page->control->invalidations;
    const uint32_t count = atomic_load_explicit(&theirs->count, memory_order_acquire),
                   seen = node->peer[r].invalidations_seen;
    for (uint32_t at = seen; at != count && count - seen <= TUTTI_GONE; at++)
        tutti_cache_forget(node->cache, device, r,
                           atomic_load_explicit(&theirs->id[at % TUTTI_GONE], memory_order_acquire));
    /* The entry behind the last may be half written. A reader of a newer entry reads the count before it. */
    if (atomic_load_explicit(&theirs->count, memory_order_relaxed) - seen >= TUTTI_GONE)
        tutti_cache_forget(node->cache, device, r, 0);
    node->peer[r].invalidations_seen = count;
}

void tutti_invalidation_read(struct tutti_node *node, const struct tutti_device *device)
{
    if (pthread_mutex_trylock(&node->invalidating) != 0)
        return;
    /* An exchange, not a store: it reads the notices that it clears, so that what their peers wrote before is seen
     * below. A processor may read the counts below before it stores. */
    (void)atomic_exchange(&tutti_node_control(node)->invalidations.notices, 0);
    for (int r = 0; r < node->size; r++) {
        if (r != node->rank)
            invalidation_receive(node, device, r);
    }
    atomic_fetch_add(&node->notices, 1);
    pthread_mutex_unlock(&node->invalidating);
}
