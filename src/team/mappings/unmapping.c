/* When mappings of the cache are unmapped: that may wait for kernels, and keep the calls of other threads back
 * meanwhile. */
#include <stdlib.h>

#include "core/log.h"
#include "core/status.h"
#include "progress/fiber.h"
#include "progress/gate.h"
#include "team/mappings/cache_own.h"

static const uint64_t HELD_MOST = UINT64_C(1)
                                  << 30; /* bytes of memory that is to be unmapped: then no more is mapped */

/* Releases that would keep steps of the host back (progress/gate.h) come with the next ones; held: so do all others.
 * Returns those of now. */
static struct tutti_mapping *cache_put_off(struct tutti_cache *cache, struct tutti_mapping *dropped, int held)
    TUTTI_HOLDS(cache->lock)
{
    struct tutti_mapping **last = &dropped;
    uint64_t bytes = cache->put_off_bytes;
    for (; *last; last = &(*last)->next)
        bytes += (*last)->what.bytes;
    *last = cache->put_off;
    cache->put_off = held || tutti_gate_closed() ? dropped : NULL;
    cache->put_off_bytes = cache->put_off ? bytes : 0;
    return cache->put_off ? NULL : dropped;
}

void tutti_cache_unmap_unless(struct tutti_cache *cache, const struct tutti_device *device,
                              struct tutti_mapping *dropped, int held)
{
    if (!dropped && (held || !cache->put_off))
        return;
    tutti_fiber_take(&cache->lock);
    dropped = cache_put_off(cache, dropped, held);
    tutti_lock_give(&cache->lock);
    while (dropped) {
        struct tutti_mapping *m = dropped;
        dropped = m->next;
        if (device && m->life == tutti_gpu_life(m->gpu) && device->share.release(m->gpu, &m->what, m->base) != TUTTI_OK)
            tutti_debug("a mapped buffer could not be released");
        atomic_fetch_add(&cache->releases, 1);
        free(m);
    }
}

void tutti_cache_unmap(struct tutti_cache *cache, const struct tutti_device *device, struct tutti_mapping *dropped)
{
    tutti_cache_unmap_unless(cache, device, dropped, atomic_load_explicit(&cache->holders, memory_order_relaxed) > 0);
}

void tutti_cache_hold(struct tutti_cache *cache, int more)
{
    atomic_fetch_add(&cache->holders, more);
}

int tutti_cache_puts_off(const struct tutti_cache *cache)
{
    return atomic_load_explicit(&cache->put_off, memory_order_relaxed) != NULL;
}

void tutti_cache_unmap_held(struct tutti_cache *cache, const struct tutti_device *device)
{
    tutti_cache_unmap_unless(cache, device, NULL, 0);
}

/* The same allocation, whose mapping made room for others, may be mapped again. */
static int list_overlaps(const struct tutti_mapping *list, const struct tutti_mapping *key)
{
    while (list && (list->peer != key->peer || list->what.id == key->what.id ||
                    !tutti_export_overlaps(&list->what, &key->what)))
        list = list->next;
    return list != NULL;
}

int tutti_cache_is_stale(const struct tutti_cache *cache, const struct tutti_mapping *key,
                         const struct tutti_mapping *dropped)
{
    return atomic_load(&cache->holders) > 0 &&
           (cache->put_off_bytes > HELD_MOST || list_overlaps(cache->put_off, key) || list_overlaps(dropped, key));
}
