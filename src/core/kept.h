/* Entries that are kept until one with the same key is asked for. All places are looked at, from that of the key's hash
 * on: few keys never displace each other. Not locked. */
#ifndef TUTTI_CORE_KEPT_H
#define TUTTI_CORE_KEPT_H

#include <stddef.h>
#include <stdint.h>

enum { TUTTI_KEPT_BITS = 4, TUTTI_KEPT = 1 << TUTTI_KEPT_BITS };

/* All zero: nothing is kept. */
struct tutti_kept {
    uint64_t key[TUTTI_KEPT];
    void *entry[TUTTI_KEPT]; /* NULL: the place is free */
};

static inline unsigned tutti_kept_first(uint64_t key)
{
    return (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TUTTI_KEPT_BITS));
}

/* Takes an entry with this key out; NULL: no place has one. */
static inline void *tutti_kept_take(struct tutti_kept *kept, uint64_t key)
{
    const unsigned first = tutti_kept_first(key);
    for (unsigned i = first; i < first + TUTTI_KEPT; i++) {
        void **const place = &kept->entry[i % TUTTI_KEPT];
        if (kept->key[i % TUTTI_KEPT] != key || !*place)
            continue;
        void *const entry = *place;
        *place = NULL;
        return entry;
    }
    return NULL;
}

/* Keeps an entry. Returns the one that was in its place if no place was free, otherwise NULL. */
static inline void *tutti_kept_put(struct tutti_kept *kept, uint64_t key, void *entry)
{
    const unsigned first = tutti_kept_first(key);
    unsigned i = first;
    while (kept->entry[i % TUTTI_KEPT] && i + 1 < first + TUTTI_KEPT)
        i++;
    i = kept->entry[i % TUTTI_KEPT] ? first : i % TUTTI_KEPT;
    void *const before = kept->entry[i];
    kept->key[i] = key;
    kept->entry[i] = entry;
    return before;
}

#endif
