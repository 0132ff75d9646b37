#include "bounce/kinds.h"

#include <stdlib.h>

#include "core/status.h"

_Atomic size_t kinds_live;
atomic_long kinds_allocated, kinds_freed;
atomic_int kinds_fail, kinds_over;
_Atomic(void *) kinds_last_freed;

struct kinds_head *kinds_head(void *memory)
{
    return (struct kinds_head *)memory - 1;
}

static int alloc(int gpu, size_t bytes, void **memory)
{
    for (int left = atomic_load(&kinds_fail); left > 0;) {
        if (atomic_compare_exchange_weak(&kinds_fail, &left, left - 1))
            return TUTTI_ERR_MEMORY;
    }
    struct kinds_head *head = aligned_alloc(64, sizeof *head + (bytes + 63) / 64 * 64);
    if (!head)
        return TUTTI_ERR_MEMORY;
    *head = (struct kinds_head){.bytes = bytes, .gpu = gpu, .clean = 1};
    if (atomic_fetch_add(&kinds_live, bytes) + bytes > LIMIT)
        atomic_fetch_add(&kinds_over, 1);
    atomic_fetch_add(&kinds_allocated, 1);
    *memory = head + 1;
    return TUTTI_OK;
}

void kinds_free(void *memory)
{
    atomic_store(&kinds_last_freed, memory);
    atomic_fetch_sub(&kinds_live, kinds_head(memory)->bytes);
    atomic_fetch_add(&kinds_freed, 1);
    free(kinds_head(memory));
}

static void clean(void *memory)
{
    kinds_head(memory)->clean = 1;
}

const struct tutti_bounce_kind kinds_strict = {.name = "strict", .bounded = 1, .alloc = alloc, .free = kinds_free};
const struct tutti_bounce_kind kinds_shared = {.name = "shared", .shared = 1, .alloc = alloc, .free = kinds_free};
const struct tutti_bounce_kind kinds_loose = {.name = "loose", .alloc = alloc, .free = kinds_free};
const struct tutti_bounce_kind kinds_cleaned = {.name = "cleaned", .alloc = alloc, .free = kinds_free, .clean = clean};

struct tutti_bounce_counts kinds_counts(void)
{
    struct tutti_bounce_counts counts;
    tutti_bounce_read(&counts);
    return counts;
}

int kinds_ends_empty(void **state)
{
    (void)state;
    tutti_bounce_close(1);
    return kinds_counts().held != 0 || kinds_counts().kept != 0 || atomic_load(&kinds_live) != 0 ||
           atomic_load(&kinds_allocated) != atomic_load(&kinds_freed);
}
