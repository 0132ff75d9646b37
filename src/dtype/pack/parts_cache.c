#include "dtype/pack/parts_cache.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

enum {
    SETS = 64,
    PARTS = 6, /* more come from layouts that are dear anyway */
    EXTRAS = 72,
    REACHES = 20
};

/* What parts depend on but addresses as multiples of 16. */
struct key {
    uint64_t plan, to_plan; /* ids */
    uint64_t count, to_count, first, bytes;
    uint64_t repeats;
    int64_t memory_apart, packed_apart;
    uint32_t direction, off; /* off: how both addresses are aligned */
    int64_t gpu;
};

struct cached_parts {
    struct key key;
    uint32_t n, extras, reaches;
    /* from, to and what is reached through them: from the job's addresses */
    struct tutti_pack_part part[PARTS];
    uint64_t extra[EXTRAS];
    struct tutti_parts_reach reach[REACHES];
};

struct tutti_parts_cache {
    unsigned char last[SETS];        /* the one that was used last */
    struct cached_parts of[SETS][2]; /* n 0: none */
};

/* The addresses that parts of the job are made from: of memory, and of what is packed or the second memory. */
static void parts_cache_addresses(const struct tutti_pack_job *job, uint64_t at[2])
{
    const uint64_t memory = (uint64_t)(uintptr_t)job->memory, packed = (uint64_t)(uintptr_t)job->packed;
    at[0] = job->direction == TUTTI_UNPACK ? packed : memory;
    at[1] = job->direction == TUTTI_UNPACK ? memory : packed;
    if (job->direction == TUTTI_RELAYOUT)
        at[1] = (uint64_t)(uintptr_t)job->to;
}

static void *parts_cache_moved(const void *pointer, uint64_t by)
{
    return (void *)((uintptr_t)pointer + (uintptr_t)by);
}

static struct key key_of(int gpu, const struct tutti_pack_job *job, const struct tutti_repeat *repeat)
{
    const int relayout = job->direction == TUTTI_RELAYOUT;
    uint64_t at[2];
    parts_cache_addresses(job, at);
    return (struct key){.plan = job->plan->id,
                        .to_plan = relayout ? job->to_plan->id : 0,
                        .count = job->count,
                        .to_count = relayout ? job->to_count : 0,
                        .first = job->first,
                        .bytes = job->bytes,
                        .repeats = repeat->n,
                        .memory_apart = repeat->n > 1 ? repeat->memory : 0,
                        .packed_apart = repeat->n > 1 ? repeat->packed : 0,
                        .direction = (uint32_t)job->direction,
                        .off = (uint32_t)((at[0] & 15) << 4 | (at[1] & 15)),
                        .gpu = gpu};
}

static unsigned set_of(const struct key *key)
{
    uint64_t h = key->plan * 0x9e3779b97f4a7c15u ^ key->to_plan * 0xc2b2ae3d27d4eb4fu;
    h ^= (key->bytes ^ key->first * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;
    h ^= (uint64_t)(key->direction << 8 | key->off) * 0xc2b2ae3d27d4eb4fu;
    return (unsigned)(h >> 58) % SETS;
}

static int parts_cache_same(const struct key *a, const struct key *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* it has no holes */
}
_Static_assert(sizeof(struct key) == 9 * 8 + 2 * 4 + 8, "a key has no holes");

int tutti_parts_cache_add(struct tutti_parts *parts, int gpu, const struct tutti_pack_job *job,
                          const struct tutti_repeat *repeat)
{
    struct tutti_parts_cache *const all = parts->cache;
    if (!all)
        return 0;
    const struct key key = key_of(gpu, job, repeat);
    const unsigned set = set_of(&key);
    unsigned way = all->last[set];
    if (!all->of[set][way].n || !parts_cache_same(&all->of[set][way].key, &key)) {
        way ^= 1;
        if (!all->of[set][way].n || !parts_cache_same(&all->of[set][way].key, &key))
            return 0;
        all->last[set] = (unsigned char)way;
    }
    const struct cached_parts *const it = &all->of[set][way];
    if (!tutti_parts_have_room(parts, it->n, it->extras, it->reaches))
        return 0;
    uint64_t at[2];
    parts_cache_addresses(job, at);
    struct tutti_pack_part *const part = tutti_parts_at(parts) + parts->n;
    memcpy(part, it->part, it->n * sizeof *part);
    for (uint32_t i = 0; i < it->n; i++) {
        part[i].from = parts_cache_moved(part[i].from, at[0]);
        part[i].to = parts_cache_moved(part[i].to, at[1]);
        part[i].at = (uint16_t)(part[i].at + parts->extras);
    }
    memcpy(parts->extra + parts->extras, it->extra, it->extras * sizeof it->extra[0]);
    for (uint32_t i = 0; i < it->reaches; i++) {
        struct tutti_parts_reach *const reach = &parts->reach[parts->reaches + i];
        *reach = it->reach[i];
        if (reach->extra) {
            reach->at += parts->extras * 8;
        } else {
            const int to = reach->at % sizeof *part == offsetof(struct tutti_pack_part, to);
            reach->start = parts_cache_moved(reach->start, at[to]);
            reach->at += parts->n * (uint32_t)sizeof *part;
        }
    }
    parts->n += it->n;
    parts->extras += it->extras;
    parts->reaches += it->reaches;
    return 1;
}

struct tutti_parts_cache_mark tutti_parts_cache_begin(const struct tutti_parts *parts)
{
    return (struct tutti_parts_cache_mark){parts->n, parts->extras, parts->reaches, parts->launches};
}

void tutti_parts_cache_keep(struct tutti_parts *parts, int gpu, const struct tutti_pack_job *job,
                            const struct tutti_repeat *repeat, struct tutti_parts_cache_mark before)
{
    const uint32_t n = parts->n - before.n, extras = parts->extras - before.extras;
    const uint32_t reaches = parts->reaches - before.reaches;
    if (parts->launches != before.launches || n == 0 || n > PARTS || extras > EXTRAS || reaches > REACHES)
        return;
    const struct tutti_pack_part *const part = tutti_parts_at(parts) + before.n;
    for (uint32_t i = 0; i < n; i++) {
        if (part[i].way == TUTTI_PACK_LOCATE) /* has addresses in what it refers to */
            return;
    }
    if (!parts->cache)
        parts->cache = calloc(1, sizeof *parts->cache);
    if (!parts->cache)
        return; /* it only saves time */
    uint64_t at[2];
    parts_cache_addresses(job, at);
    const struct key key = key_of(gpu, job, repeat);
    const unsigned set = set_of(&key), way = parts->cache->last[set] ^ 1u;
    struct cached_parts *const it = &parts->cache->of[set][way];
    parts->cache->last[set] = (unsigned char)way;
    it->key = key;
    it->n = n;
    it->extras = extras;
    it->reaches = reaches;
    memcpy(it->part, part, n * sizeof *part);
    for (uint32_t i = 0; i < n; i++) {
        it->part[i].from = parts_cache_moved(part[i].from, 0 - at[0]);
        it->part[i].to = parts_cache_moved(part[i].to, 0 - at[1]);
        it->part[i].at = (uint16_t)(part[i].at - before.extras);
    }
    memcpy(it->extra, parts->extra + before.extras, extras * sizeof it->extra[0]);
    for (uint32_t i = 0; i < reaches; i++) {
        struct tutti_parts_reach *const reach = &it->reach[i];
        *reach = parts->reach[before.reaches + i];
        if (reach->extra) {
            reach->at -= before.extras * 8;
        } else {
            const int to = reach->at % sizeof *part == offsetof(struct tutti_pack_part, to);
            reach->start = parts_cache_moved(reach->start, 0 - at[to]);
            reach->at -= before.n * (uint32_t)sizeof *part;
        }
    }
}
