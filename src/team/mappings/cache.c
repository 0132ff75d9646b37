#include "team/mappings/cache_own.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/counters.h"
#include "core/fnv.h"
#include "core/log.h"
#include "core/status.h"
#include "progress/engine.h"
#include "progress/fiber.h"
#include "progress/gate.h"
#include "team/exports.h"

enum { CHAINS_LEAST = 64 };

struct tutti_cache *tutti_cache_new(size_t entries)
{
    struct tutti_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->chains = CHAINS_LEAST;
    while (cache->chains < entries)
        cache->chains *= 2;
    cache->chain = calloc(cache->chains, sizeof(struct tutti_mapping *));
    cache->exports = tutti_exports_new();
    if (!cache->chain || !cache->exports) {
        free(cache->chain);
        tutti_exports_free(cache->exports);
        free(cache);
        return NULL;
    }
    cache->entries = entries;
    cache->ends.newer = cache->ends.older = &cache->ends;
    return cache;
}

static struct tutti_mapping **chain_of(struct tutti_cache *cache, int peer, int gpu, const struct tutti_export *what)
    TUTTI_HOLDS(cache->lock)
{
    uint64_t h = tutti_mix(what->id ^ (uint64_t)(unsigned)peer << 40 ^ (uint64_t)(unsigned)gpu << 56);
    return &cache->chain[h & (cache->chains - 1)];
}

static int mappings_cache_same(const struct tutti_mapping *m, int peer, int gpu, const struct tutti_export *what)
{
    return m->what.id == what->id && m->peer == peer && m->gpu == gpu && m->life == tutti_gpu_life(gpu) &&
           m->what.bytes == what->bytes && m->what.kind == what->kind &&
           memcmp(m->what.token, what->token, sizeof what->token) == 0;
}

static void unlink_use(struct tutti_mapping *m)
{
    m->newer->older = m->older;
    m->older->newer = m->newer;
}

static void link_newest(struct tutti_cache *cache, struct tutti_mapping *m) TUTTI_HOLDS(cache->lock)
{
    m->older = cache->ends.older;
    m->newer = &cache->ends;
    m->older->newer = m;
    cache->ends.older = m;
}

/* Out of the chain and the list; the mapping is counted. */
static void cache_unlink(struct tutti_cache *cache, struct tutti_mapping *m) TUTTI_HOLDS(cache->lock)
{
    struct tutti_mapping **at = chain_of(cache, m->peer, m->gpu, &m->what);
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    unlink_use(m);
    cache->count--;
}

/* Takes an unreferenced mapping out, for tutti_cache_unmap(). */
static void cache_drop(struct tutti_cache *cache, struct tutti_mapping *m, struct tutti_mapping **dropped)
    TUTTI_HOLDS(cache->lock)
{
    cache_unlink(cache, m);
    atomic_fetch_add(&cache->drops, 1);
    m->next = *dropped;
    *dropped = m;
}

/* Makes room for `more` mappings as far as unreferenced ones can go. */
static void make_room(struct tutti_cache *cache, size_t more, struct tutti_mapping **dropped) TUTTI_HOLDS(cache->lock)
{
    for (struct tutti_mapping *m = cache->ends.newer, *next; m != &cache->ends && cache->count + more > cache->entries;
         m = next) {
        next = m->newer;
        if (m->refs == 0)
            cache_drop(cache, m, dropped);
    }
}

/* What the peer had where it has `what` now is gone; what is in use goes with its last reference, and 1 is returned. */
static int drop_stale(struct tutti_cache *cache, int peer, const struct tutti_export *what,
                      struct tutti_mapping **dropped) TUTTI_HOLDS(cache->lock)
{
    int used = 0;
    for (struct tutti_mapping *m = cache->ends.newer, *next; m != &cache->ends; m = next) {
        next = m->newer;
        if (m->peer != peer || m->what.id == what->id || !tutti_export_overlaps(&m->what, what))
            continue;
        m->doomed |= !m->channel;
        used |= m->refs > 0;
        if (m->refs == 0)
            cache_drop(cache, m, dropped);
    }
    return used;
}

static void mapping_refer(struct tutti_cache *cache, struct tutti_mapping *m) TUTTI_HOLDS(cache->lock)
{
    if (m->refs++ == 0 && m->channel)
        cache->count--;
    m->doomed = 0; /* the asking rank has newer knowledge */
    unlink_use(m);
    link_newest(cache, m);
}

/* May be one that is still being made. */
static struct tutti_mapping *cache_seek(struct tutti_cache *cache, int peer, int gpu, const struct tutti_export *what)
    TUTTI_HOLDS(cache->lock)
{
    struct tutti_mapping *m = *chain_of(cache, peer, gpu, what);
    while (m && !mappings_cache_same(m, peer, gpu, what))
        m = m->next;
    return m;
}

struct tutti_mapping *tutti_cache_find(struct tutti_cache *cache, int peer, int gpu, const struct tutti_export *what)
{
    tutti_fiber_take(&cache->lock);
    struct tutti_mapping *m = cache_seek(cache, peer, gpu, what);
    if (m && m->making)
        m = NULL;
    if (m)
        mapping_refer(cache, m);
    tutti_lock_give(&cache->lock);
    return m;
}

static void mapping_share(struct tutti_cache *cache, struct tutti_mapping *m) TUTTI_HOLDS(cache->lock)
{
    (void)cache;
    m->refs++;
}

int tutti_cache_refer(struct tutti_cache *cache, struct tutti_mapping *mapping, int peer, int gpu,
                      const struct tutti_export *what)
{
    if (mapping->doomed || !mappings_cache_same(mapping, peer, gpu, what))
        return 0;
    tutti_fiber_take(&cache->lock);
    mapping_share(cache, mapping);
    tutti_lock_give(&cache->lock);
    return 1;
}

static int cache_is_gone(const struct tutti_cache *cache, int peer, uint64_t id)
{
    int i = 0;
    while (i < TUTTI_CACHE_GONE && (cache->gone[i].id != id || cache->gone[i].peer != peer))
        i++;
    return i < TUTTI_CACHE_GONE;
}

/* The mapping, or the entry of one that the caller makes, with one more reference. A status, or TUTTI_CACHE_STALE. */
static int cache_enter(struct tutti_cache *cache, const struct tutti_mapping *key, struct tutti_mapping **out,
                       struct tutti_mapping **dropped, int *used) TUTTI_HOLDS(cache->lock)
{
    struct tutti_mapping *m = *out = cache_seek(cache, key->peer, key->gpu, &key->what);
    if (m) {
        mapping_refer(cache, m);
        return TUTTI_OK;
    }
    if (cache_is_gone(cache, key->peer, key->what.id))
        return TUTTI_ERR_UNAVAILABLE;
    *used = drop_stale(cache, key->peer, &key->what, dropped);
    if (tutti_cache_is_stale(cache, key, *dropped) || (*used && !key->what.needs_fd))
        return TUTTI_CACHE_STALE;
    if (!key->channel)
        make_room(cache, 1, dropped);
    if (!key->channel && cache->count >= cache->entries)
        return TUTTI_ERR_UNAVAILABLE;
    if (!(m = malloc(sizeof *m)))
        return TUTTI_ERR_MEMORY;
    *m = *key;
    struct tutti_mapping **chain = chain_of(cache, m->peer, m->gpu, &m->what);
    m->next = *chain;
    *chain = m;
    link_newest(cache, m);
    cache->count += !m->channel;
    *out = m;
    return TUTTI_OK;
}

/* The entry has been mapped, or could not be. */
static void cache_settle(struct tutti_cache *cache, struct tutti_mapping *m, int status) TUTTI_HOLDS(cache->lock)
{
    m->making = 0;
    if (status == TUTTI_OK)
        return;
    cache->count += m->channel;
    cache_unlink(cache, m);
    free(m);
}

/* What another thread is mapping. */
struct cache_making {
    struct tutti_cache *cache;
    const struct tutti_mapping *key;
};

/* No other thread makes it. Returns with the lock held. */
TUTTI_UNGUARDED static int is_unmade(void *with)
{
    const struct cache_making *making = with;
    tutti_fiber_take(&making->cache->lock);
    const struct tutti_mapping *m = cache_seek(making->cache, making->key->peer, making->key->gpu, &making->key->what);
    if (!m || !m->making)
        return 1;
    tutti_lock_give(&making->cache->lock);
    return 0;
}

static int cache_rests(void *with)
{
    struct tutti_cache *cache = with;
    return atomic_load(&cache->releases) == atomic_load(&cache->drops) || atomic_load(&cache->put_off);
}

/* Memory at the address of freed memory cannot be mapped before that is unmapped, which another thread may be doing:
 * a second try comes after it, or with the next call. */
static int cache_import(struct tutti_cache *cache, const struct tutti_device *device, struct tutti_mapping *m, int fd,
                        int waits)
{
    const unsigned before = atomic_load(&cache->releases);
    if (!m->channel && tutti_gate_closed()) /* the import would wait for steps of the host */
        return TUTTI_ERR_UNAVAILABLE;
    const int status = device->share.import(m->gpu, &m->what, fd, &m->base);
    if (status == TUTTI_OK || (cache_rests(cache) && atomic_load(&cache->releases) == before))
        return status;
    if (!waits)
        return TUTTI_CACHE_LATER;
    tutti_cache_unmap(cache, device, NULL);
    tutti_progress_wait(&(const struct tutti_wait){.done = cache_rests, .with = cache, .quiet = 1});
    return device->share.import(m->gpu, &m->what, fd, &m->base);
}

static int cache_add(struct tutti_cache *cache, const struct tutti_device *device, int peer, int gpu,
                     const struct tutti_export *what, int fd, int channel, int waits, struct tutti_mapping **out)
{
    const struct tutti_mapping key = {.what = *what,
                                      .peer = peer,
                                      .gpu = gpu,
                                      .life = tutti_gpu_life(gpu),
                                      .refs = 1,
                                      .channel = channel,
                                      .making = 1};
    struct tutti_mapping *m, *dropped = NULL;
    struct cache_making making = {cache, &key};
    if (waits)
        tutti_progress_wait(&(const struct tutti_wait){.done = is_unmade, .with = &making, .quiet = 1});
    else if (!is_unmade(&making))
        return TUTTI_CACHE_LATER;
    tutti_lock_held(&cache->lock);
    int used = 0, status = cache_enter(cache, &key, &m, &dropped, &used);
    const int make = status == TUTTI_OK && m->making;
    tutti_lock_give(&cache->lock);
    tutti_cache_unmap(cache, device, dropped);
    if (make) {
        status = cache_import(cache, device, m, fd, waits);
        status = status < 0 && used ? TUTTI_CACHE_STALE : status; /* memory behind a descriptor may be mapped beside */
        tutti_fiber_take(&cache->lock);
        cache_settle(cache, m, status);
        tutti_lock_give(&cache->lock);
        if (status == TUTTI_OK)
            tutti_count("memory of other ranks", TUTTI_OUTCOME_MAPPED,
                        channel ? "scratch and windows" : "of the program");
    }
    if (status == TUTTI_OK)
        *out = m;
    return status;
}

int tutti_cache_add(struct tutti_cache *cache, const struct tutti_device *device, int peer, int gpu,
                    const struct tutti_export *what, int fd, int channel, struct tutti_mapping **out)
{
    int status = cache_add(cache, device, peer, gpu, what, fd, channel, 1, out);
    if (status == TUTTI_CACHE_STALE) {
        tutti_cache_unmap_held(cache, device);
        status = cache_add(cache, device, peer, gpu, what, fd, channel, 1, out);
    }
    return status == TUTTI_CACHE_STALE ? TUTTI_ERR_UNAVAILABLE : status;
}

int tutti_cache_add_held(struct tutti_cache *cache, const struct tutti_device *device, int peer, int gpu,
                         const struct tutti_export *what, int fd, int channel, struct tutti_mapping **out)
{
    const int status = cache_add(cache, device, peer, gpu, what, fd, channel, 1, out);
    return status == TUTTI_CACHE_STALE ? TUTTI_ERR_UNAVAILABLE : status;
}

int tutti_cache_add_now(struct tutti_cache *cache, const struct tutti_device *device, int peer, int gpu,
                        const struct tutti_export *what, int fd, struct tutti_mapping **out)
{
    return cache_add(cache, device, peer, gpu, what, fd, 0, 0, out);
}

void tutti_cache_release(struct tutti_cache *cache, const struct tutti_device *device, struct tutti_mapping *m)
{
    struct tutti_mapping *dropped = NULL;
    tutti_fiber_take(&cache->lock);
    if (--m->refs == 0 && m->channel)
        cache->count++;
    if (m->refs == 0 && m->doomed)
        cache_drop(cache, m, &dropped);
    else if (m->refs == 0 && m->channel)
        make_room(cache, 0, &dropped);
    tutti_lock_give(&cache->lock);
    tutti_cache_unmap(cache, device, dropped);
}

static void cache_doom(struct tutti_cache *cache, struct tutti_mapping *const mappings[], int n, int peer)
    TUTTI_HOLDS(cache->lock)
{
    (void)cache;
    for (int i = 0; i < n; i++)
        mappings[i]->doomed |= mappings[i]->peer == peer;
}

void tutti_cache_doom(struct tutti_cache *cache, struct tutti_mapping *const mappings[], int n, int peer)
{
    tutti_fiber_take(&cache->lock);
    cache_doom(cache, mappings, n, peer);
    tutti_lock_give(&cache->lock);
}

void tutti_cache_forget(struct tutti_cache *cache, const struct tutti_device *device, int peer, uint64_t id)
{
    struct tutti_mapping *dropped = NULL;
    tutti_fiber_take(&cache->lock);
    if (id)
        cache->gone[cache->gones++ % TUTTI_CACHE_GONE] = (struct cache_gone){id, peer};
    for (struct tutti_mapping *m = cache->ends.newer, *next; m != &cache->ends; m = next) {
        next = m->newer;
        if (m->peer != peer || (id ? m->what.id != id : m->channel))
            continue;
        if (m->refs == 0)
            cache_drop(cache, m, &dropped);
        else
            m->doomed = !m->channel;
    }
    tutti_lock_give(&cache->lock);
    tutti_cache_unmap(cache, device, dropped);
}

struct tutti_exports *tutti_cache_exports(struct tutti_cache *cache)
{
    return cache->exports;
}

size_t tutti_cache_count(struct tutti_cache *cache)
{
    tutti_fiber_take(&cache->lock);
    size_t count = cache->count;
    tutti_lock_give(&cache->lock);
    return count;
}

void tutti_cache_empty(struct tutti_cache *cache, const struct tutti_device *device)
{
    struct tutti_mapping *dropped = NULL;
    tutti_fiber_take(&cache->lock);
    while (cache->ends.newer != &cache->ends) {
        struct tutti_mapping *m = cache->ends.newer;
        cache->count += m->channel && m->refs > 0;
        cache_drop(cache, m, &dropped);
    }
    tutti_lock_give(&cache->lock);
    tutti_cache_unmap_unless(cache, device, dropped, 0);
}

void tutti_cache_free(struct tutti_cache *cache)
{
    if (!cache)
        return;
    for (struct tutti_mapping *m = cache->ends.newer; m != &cache->ends;) {
        struct tutti_mapping *next = m->newer;
        free(m);
        m = next;
    }
    for (struct tutti_mapping *m = cache->put_off, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    tutti_exports_free(cache->exports);
    free(cache->chain);
    free(cache);
}
