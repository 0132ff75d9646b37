/* Mapped buffers of peers, and the names of this rank's own allocations. Keys hold the allocation's id, which its owner
 * never uses again, so that a reused address is never taken for the old buffer. Private to team/; safe from
 * any thread. */
#ifndef TUTTI_TEAM_CACHE_H
#define TUTTI_TEAM_CACHE_H

#include <stdatomic.h>
#include <stddef.h>

#include "device/device.h"

struct tutti_cache;
struct tutti_exports;

struct tutti_mapping {
    struct tutti_mapping *next;          /* in its chain */
    struct tutti_mapping *newer, *older; /* by last use */
    struct tutti_export what;
    int peer;      /* node rank of the owner */
    int gpu;       /* that it is mapped for */
    unsigned life; /* of that GPU */
    unsigned refs;
    int channel; /* of an open team: not counted among the entries while in use */
    int making;  /* 1: a thread is mapping it, and holds the reference; no other thread finds it before */
    void *base;
    _Atomic int doomed; /* its owner has freed it: unmapped after its last use */
};

/* At most `entries` mappings, those of open teams' channels apart. NULL: no memory. */
struct tutti_cache *tutti_cache_new(size_t entries);
/* Releases all mappings; none may be in use. */
void tutti_cache_empty(struct tutti_cache *cache, const struct tutti_device *device);
void tutti_cache_free(struct tutti_cache *cache);

/* A mapping that is there, with one more reference; NULL otherwise. */
struct tutti_mapping *tutti_cache_find(struct tutti_cache *cache, int peer, int gpu, const struct tutti_export *what);
/* 1 if `mapping`, which the caller has a reference of, is of this allocation: it has one more. */
int tutti_cache_refer(struct tutti_cache *cache, struct tutti_mapping *mapping, int peer, int gpu,
                      const struct tutti_export *what);
/* Maps and keeps; the least recently used unreferenced mappings make room. TUTTI_ERR_UNAVAILABLE where all are in use,
 * and for what was forgotten by its id. Unmaps what is in the way, also what was to be unmapped later.
 * fd stays the caller's. The driver may take milliseconds; the cache can be used meanwhile. */
int tutti_cache_add(struct tutti_cache *cache, const struct tutti_device *device, int peer, int gpu,
                    const struct tutti_export *what, int fd, int channel, struct tutti_mapping **out);
/* The same, but what is unmapped later stays: TUTTI_ERR_UNAVAILABLE if memory that the peer has freed is still mapped
 * there, in use or while the cache is held, or if too much such memory is. */
int tutti_cache_add_held(struct tutti_cache *cache, const struct tutti_device *device, int peer, int gpu,
                         const struct tutti_export *what, int fd, int channel, struct tutti_mapping **out);
/* As that, without a wait for another thread; TUTTI_CACHE_LATER where it takes one: call it again; TUTTI_CACHE_STALE in
 * place of the TUTTI_ERR_UNAVAILABLE above. No channel. */
enum { TUTTI_CACHE_LATER = 1, TUTTI_CACHE_STALE };
int tutti_cache_add_now(struct tutti_cache *cache, const struct tutti_device *device, int peer, int gpu,
                        const struct tutti_export *what, int fd, struct tutti_mapping **out);
/* What is released is unmapped later while someone holds the cache: unmapping may wait for kernels that run. more: 1:
 * one holder more, -1: one less. unmap_held: no kernel of this process runs that waits for a peer: unmaps it now. */
void tutti_cache_hold(struct tutti_cache *cache, int more);
int tutti_cache_puts_off(const struct tutti_cache *cache); /* 1 if something is to be unmapped later */
void tutti_cache_unmap_held(struct tutti_cache *cache, const struct tutti_device *device);
void tutti_cache_release(struct tutti_cache *cache, const struct tutti_device *device, struct tutti_mapping *mapping);
/* Those of the mappings that are the peer's, all in use, are not kept when they are released for the last time. */
void tutti_cache_doom(struct tutti_cache *cache, struct tutti_mapping *const mappings[], int n, int peer);
/* The peer's allocation is gone (id 0: all of them may be, channels apart): unmaps what is not in use at once, the rest
 * when it is released. */
void tutti_cache_forget(struct tutti_cache *cache, const struct tutti_device *device, int peer, uint64_t id);
size_t tutti_cache_count(struct tutti_cache *cache);

/* The names of this rank's allocations. */
struct tutti_exports *tutti_cache_exports(struct tutti_cache *cache);

#endif
