#include "team/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/counters.h"
#include "core/log.h"
#include "core/status.h"
#include "progress/engine.h"
#include "progress/fiber.h"

enum { CHAINS_LEAST = 64, EXPORT_CHAINS = 512, GONE = 256 };

/* The name of an allocation of this rank. Names are never evicted: a peer may have mapped the allocation, and needs
 * a notice when it is freed. */
struct export_entry {
    struct export_entry *next; /* in its chain */
    uint64_t id;
    const void *pointer; /* into the allocation */
    int status;
    struct tutti_export what;
};

struct tutti_cache {
    pthread_mutex_t lock;  /* no mapping is made or released under it: that takes the driver milliseconds */
    size_t entries, count; /* most, and now without channels in use */
    size_t chains;         /* a power of two */
    struct tutti_mapping **chain;
    struct tutti_mapping ends; /* ends.newer: least recently used; ends.older: most recently */
    /* Allocations that peers have freed, the last ones: what is named before its owner frees it may be mapped late. */
    struct cache_gone {
        uint64_t id;
        int peer;
    } gone[GONE];
    unsigned gones;
    struct export_entry *exported[EXPORT_CHAINS];
    unsigned next; /* chain whose allocations are looked at next, whether they are still there */
    _Atomic uint64_t named;
};

struct tutti_cache *tutti_cache_new(size_t entries)
{
    struct tutti_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->chains = CHAINS_LEAST;
    while (cache->chains < entries)
        cache->chains *= 2;
    cache->chain = calloc(cache->chains, sizeof(struct tutti_mapping *));
    if (!cache->chain) {
        free(cache);
        return NULL;
    }
    pthread_mutex_init(&cache->lock, NULL);
    cache->entries = entries;
    cache->ends.newer = cache->ends.older = &cache->ends;
    return cache;
}

static uint64_t cache_mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

static struct tutti_mapping **chain_of(struct tutti_cache *cache, int peer, int gpu, const struct tutti_export *what)
{
    uint64_t h = cache_mix(what->id ^ (uint64_t)(unsigned)peer << 40 ^ (uint64_t)(unsigned)gpu << 56);
    return &cache->chain[h & (cache->chains - 1)];
}

static int cache_same(const struct tutti_mapping *m, int peer, int gpu, const struct tutti_export *what)
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

static void link_newest(struct tutti_cache *cache, struct tutti_mapping *m)
{
    m->older = cache->ends.older;
    m->newer = &cache->ends;
    m->older->newer = m;
    cache->ends.older = m;
}

/* Out of the chain and the list; the lock is held, the mapping counted. */
static void cache_unlink(struct tutti_cache *cache, struct tutti_mapping *m)
{
    struct tutti_mapping **at = chain_of(cache, m->peer, m->gpu, &m->what);
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    unlink_use(m);
    cache->count--;
}

/* Takes an unreferenced mapping out, for cache_unmap(); the lock is held. */
static void cache_drop(struct tutti_cache *cache, struct tutti_mapping *m, struct tutti_mapping **dropped)
{
    cache_unlink(cache, m);
    m->next = *dropped;
    *dropped = m;
}

/* Without the lock. */
static void cache_unmap(const struct tutti_device *device, struct tutti_mapping *dropped)
{
    while (dropped) {
        struct tutti_mapping *m = dropped;
        dropped = m->next;
        if (device && m->life == tutti_gpu_life(m->gpu) && device->share.release(m->gpu, &m->what, m->base) != TUTTI_OK)
            tutti_debug("a mapped buffer could not be released");
        free(m);
    }
}

/* Makes room for `more` mappings as far as unreferenced ones can go. */
static void make_room(struct tutti_cache *cache, size_t more, struct tutti_mapping **dropped)
{
    for (struct tutti_mapping *m = cache->ends.newer, *next; m != &cache->ends && cache->count + more > cache->entries;
         m = next) {
        next = m->newer;
        if (m->refs == 0)
            cache_drop(cache, m, dropped);
    }
}

/* What the peer had where it has `what` now is gone. */
static void drop_stale(struct tutti_cache *cache, int peer, const struct tutti_export *what,
                       struct tutti_mapping **dropped)
{
    for (struct tutti_mapping *m = cache->ends.newer, *next; m != &cache->ends; m = next) {
        next = m->newer;
        if (m->peer == peer && m->refs == 0 && m->what.id != what->id && m->what.base < what->base + what->bytes &&
            what->base < m->what.base + m->what.bytes)
            cache_drop(cache, m, dropped);
    }
}

static void mapping_refer(struct tutti_cache *cache, struct tutti_mapping *m)
{
    if (m->refs++ == 0 && m->channel)
        cache->count--;
    m->doomed = 0; /* the asking rank has newer knowledge */
    unlink_use(m);
    link_newest(cache, m);
}

/* May be one that is still being made. */
static struct tutti_mapping *cache_seek(struct tutti_cache *cache, int peer, int gpu, const struct tutti_export *what)
{
    struct tutti_mapping *m = *chain_of(cache, peer, gpu, what);
    while (m && !cache_same(m, peer, gpu, what))
        m = m->next;
    return m;
}

struct tutti_mapping *tutti_cache_find(struct tutti_cache *cache, int peer, int gpu, const struct tutti_export *what)
{
    tutti_fiber_lock(&cache->lock);
    struct tutti_mapping *m = cache_seek(cache, peer, gpu, what);
    if (m && m->making)
        m = NULL;
    if (m)
        mapping_refer(cache, m);
    pthread_mutex_unlock(&cache->lock);
    return m;
}

static int cache_is_gone(const struct tutti_cache *cache, int peer, uint64_t id)
{
    int i = 0;
    while (i < GONE && (cache->gone[i].id != id || cache->gone[i].peer != peer))
        i++;
    return i < GONE;
}

/* The mapping, or the entry of one that the caller makes, with one more reference. The lock is held. A status. */
static int cache_enter(struct tutti_cache *cache, const struct tutti_mapping *key, struct tutti_mapping **out,
                       struct tutti_mapping **dropped)
{
    struct tutti_mapping *m = *out = cache_seek(cache, key->peer, key->gpu, &key->what);
    if (m) {
        mapping_refer(cache, m);
        return TUTTI_OK;
    }
    if (cache_is_gone(cache, key->peer, key->what.id))
        return TUTTI_ERR_UNAVAILABLE;
    drop_stale(cache, key->peer, &key->what, dropped);
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

/* The entry has been mapped, or could not be; the lock is held. */
static void cache_settle(struct tutti_cache *cache, struct tutti_mapping *m, int status)
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
static int is_unmade(void *with)
{
    const struct cache_making *making = with;
    tutti_fiber_lock(&making->cache->lock);
    const struct tutti_mapping *m = cache_seek(making->cache, making->key->peer, making->key->gpu, &making->key->what);
    if (!m || !m->making)
        return 1;
    pthread_mutex_unlock(&making->cache->lock);
    return 0;
}

int tutti_cache_add(struct tutti_cache *cache, const struct tutti_device *device, int peer, int gpu,
                    const struct tutti_export *what, int fd, int channel, struct tutti_mapping **out)
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
    tutti_progress_wait(&(const struct tutti_wait){.done = is_unmade, .with = &making, .quiet = 1});
    int status = cache_enter(cache, &key, &m, &dropped);
    const int make = status == TUTTI_OK && m->making;
    pthread_mutex_unlock(&cache->lock);
    cache_unmap(device, dropped);
    if (make) {
        status = device->share.import(gpu, what, fd, &m->base);
        tutti_fiber_lock(&cache->lock);
        cache_settle(cache, m, status);
        pthread_mutex_unlock(&cache->lock);
        if (status == TUTTI_OK)
            tutti_count("memory of other ranks", TUTTI_OUTCOME_MAPPED,
                        channel ? "scratch and windows" : "of the program");
    }
    if (status == TUTTI_OK)
        *out = m;
    return status;
}

void tutti_cache_release(struct tutti_cache *cache, const struct tutti_device *device, struct tutti_mapping *m)
{
    struct tutti_mapping *dropped = NULL;
    tutti_fiber_lock(&cache->lock);
    if (--m->refs == 0 && m->channel)
        cache->count++;
    if (m->refs == 0 && m->doomed)
        cache_drop(cache, m, &dropped);
    else if (m->refs == 0 && m->channel)
        make_room(cache, 0, &dropped);
    pthread_mutex_unlock(&cache->lock);
    cache_unmap(device, dropped);
}

void tutti_cache_doom(struct tutti_cache *cache, struct tutti_mapping *const mappings[], int n, int peer)
{
    tutti_fiber_lock(&cache->lock);
    for (int i = 0; i < n; i++)
        mappings[i]->doomed |= mappings[i]->peer == peer;
    pthread_mutex_unlock(&cache->lock);
}

void tutti_cache_forget(struct tutti_cache *cache, const struct tutti_device *device, int peer, uint64_t id)
{
    struct tutti_mapping *dropped = NULL;
    tutti_fiber_lock(&cache->lock);
    if (id)
        cache->gone[cache->gones++ % GONE] = (struct cache_gone){id, peer};
    for (struct tutti_mapping *m = cache->ends.newer, *next; m != &cache->ends; m = next) {
        next = m->newer;
        if (m->peer != peer || (id ? m->what.id != id : m->channel))
            continue;
        if (m->refs == 0)
            cache_drop(cache, m, &dropped);
        else
            m->doomed = !m->channel;
    }
    pthread_mutex_unlock(&cache->lock);
    cache_unmap(device, dropped);
}

size_t tutti_cache_count(struct tutti_cache *cache)
{
    tutti_fiber_lock(&cache->lock);
    size_t count = cache->count;
    pthread_mutex_unlock(&cache->lock);
    return count;
}

static struct export_entry **exports_of(struct tutti_cache *cache, uint64_t id)
{
    return &cache->exported[cache_mix(id) % EXPORT_CHAINS];
}

static struct export_entry *find_export(struct tutti_cache *cache, uint64_t id)
{
    struct export_entry *entry = id ? *exports_of(cache, id) : NULL;
    while (entry && entry->id != id)
        entry = entry->next;
    return entry;
}

/* A new name; the lock is held. id 0: it is not kept. A status. */
static int make_export(struct tutti_cache *cache, const struct tutti_device *device, const void *pointer, uint64_t id,
                       struct tutti_export *out)
{
    struct export_entry *entry = malloc(sizeof *entry); /* first: a name that is given away must be kept */
    int fd = -1;
    if (!entry)
        return TUTTI_ERR_MEMORY;
    *entry = (struct export_entry){.id = id, .pointer = pointer};
    const int status = entry->status = device->share.export(pointer, &entry->what, &fd);
    if (status == TUTTI_OK && fd >= 0)
        close(fd); /* a rank that needs a descriptor gets a new one */
    if (status == TUTTI_OK)
        *out = entry->what;
    cache->named++;
    if (id) {
        struct export_entry **chain = exports_of(cache, id);
        entry->next = *chain;
        *chain = entry;
    } else {
        free(entry);
    }
    return status;
}

int tutti_cache_export(struct tutti_cache *cache, const struct tutti_device *device, const void *pointer, uint64_t id,
                       struct tutti_export *out)
{
    tutti_fiber_lock(&cache->lock);
    const struct export_entry *entry = find_export(cache, id);
    const int status = entry ? entry->status : make_export(cache, device, pointer, id, out);
    if (entry && status == TUTTI_OK)
        *out = entry->what;
    pthread_mutex_unlock(&cache->lock);
    return status;
}

/* Looks at one chain, until `most` ids are written. The number of allocations that were looked at. */
static unsigned look_at_chain(struct export_entry **at, const struct tutti_device *device, uint64_t ids[],
                              unsigned most, unsigned *n)
{
    unsigned looked = 0;
    while (*at && *n < most) {
        struct export_entry *entry = *at;
        struct tutti_memory memory;
        looked++;
        device->memory.classify(entry->pointer, &memory);
        if (memory.kind == TUTTI_MEMORY_DEVICE && memory.id == entry->id) {
            at = &entry->next;
            continue;
        }
        if (entry->status == TUTTI_OK)
            ids[(*n)++] = entry->what.id;
        *at = entry->next;
        free(entry);
    }
    return looked;
}

unsigned tutti_cache_gone(struct tutti_cache *cache, const struct tutti_device *device, unsigned few, uint64_t ids[],
                          unsigned most)
{
    unsigned n = 0, looked = 0;
    tutti_fiber_lock(&cache->lock);
    for (int i = 0; i < EXPORT_CHAINS && (!few || looked < few); i++) {
        looked += look_at_chain(&cache->exported[cache->next % EXPORT_CHAINS], device, ids, most, &n);
        if (n == most) /* there may be more in this chain */
            break;
        cache->next++;
    }
    pthread_mutex_unlock(&cache->lock);
    return n;
}

uint64_t tutti_cache_named(struct tutti_cache *cache)
{
    return atomic_load_explicit(&cache->named, memory_order_relaxed);
}

void tutti_cache_empty(struct tutti_cache *cache, const struct tutti_device *device)
{
    struct tutti_mapping *dropped = NULL;
    tutti_fiber_lock(&cache->lock);
    while (cache->ends.newer != &cache->ends) {
        struct tutti_mapping *m = cache->ends.newer;
        cache->count += m->channel && m->refs > 0;
        cache_drop(cache, m, &dropped);
    }
    pthread_mutex_unlock(&cache->lock);
    cache_unmap(device, dropped);
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
    for (int i = 0; i < EXPORT_CHAINS; i++) {
        for (struct export_entry *entry = cache->exported[i], *next; entry; entry = next) {
            next = entry->next;
            free(entry);
        }
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache->chain);
    free(cache);
}
