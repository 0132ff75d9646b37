/* What the files of the cache share. Private to cache.c and unmapping.c. */
#ifndef TUTTI_TEAM_CACHE_OWN_H
#define TUTTI_TEAM_CACHE_OWN_H

#include "core/lock.h"
#include "team/cache.h"

enum { TUTTI_CACHE_GONE = 256 };

struct tutti_cache {
    struct tutti_lock lock; /* no mapping is made or released under it: that takes the driver milliseconds */
    size_t entries, count;  /* most, and now without channels in use */
    size_t chains;          /* a power of two */
    struct tutti_mapping **chain;
    struct tutti_mapping ends; /* ends.newer: least recently used; ends.older: most recently */
    /* Allocations that peers have freed, the last ones: what is named before its owner frees it may be mapped late. */
    struct cache_gone {
        uint64_t id;
        int peer;
    } gone[TUTTI_CACHE_GONE];
    unsigned gones;
    struct tutti_exports *exports;
    struct tutti_mapping *_Atomic put_off; /* mappings that are unmapped later */
    _Atomic uint64_t put_off_bytes;
    atomic_int holders;
    _Atomic unsigned drops, releases; /* mappings that were taken out, and those of them that are unmapped */
};

/* Without the lock. Unmaps `dropped`, which are in no list any more, and what was put off; held: puts `dropped` off. */
void tutti_cache_unmap_unless(struct tutti_cache *cache, const struct tutti_device *device,
                              struct tutti_mapping *dropped, int held);
/* The same, held while someone holds the cache. */
void tutti_cache_unmap(struct tutti_cache *cache, const struct tutti_device *device, struct tutti_mapping *dropped);
/* The lock is held. 1 if the memory cannot be mapped before other memory has been unmapped, which the cache's holders
 * keep back. dropped: are put off next. */
int tutti_cache_is_stale(const struct tutti_cache *cache, const struct tutti_mapping *key,
                         const struct tutti_mapping *dropped) TUTTI_HOLDS(cache->lock);

#endif
