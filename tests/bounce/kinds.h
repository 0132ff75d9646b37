/* Kinds of memory of the tests' own: malloc's, counted where it is allocated and freed. */
#ifndef TUTTI_TESTS_BOUNCE_KINDS_H
#define TUTTI_TESTS_BOUNCE_KINDS_H

#include <stdatomic.h>
#include <stddef.h>

#include "bounce/bounce.h"

#define MB    ((size_t)1 << 20)
#define LIMIT (8 * MB) /* TUTTI_BOUNCE_MB */

/* Bounded; not; the same, with shared allocations; with a clean(). */
extern const struct tutti_bounce_kind kinds_strict, kinds_loose, kinds_shared, kinds_cleaned;

/* Stands before the memory. */
struct kinds_head {
    _Alignas(64) size_t bytes;
    int gpu, clean;
};
struct kinds_head *kinds_head(void *memory);

extern _Atomic size_t kinds_live; /* bytes */
extern atomic_long kinds_allocated, kinds_freed;
extern atomic_int kinds_fail, kinds_over; /* allocations that are to fail; how often there was more than LIMIT */
extern _Atomic(void *) kinds_last_freed;
void kinds_free(void *memory);

struct tutti_bounce_counts kinds_counts(void);
/* cmocka's teardown: nothing is left when the pool has been closed. */
int kinds_ends_empty(void **state);

#endif
