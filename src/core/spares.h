/* Objects that are not in use, for the next ones: taken and given back some times for each message. Local, safe from
 * any thread. `alone`: one thread at a time uses the list, see lock.h. */
#ifndef TUTTI_CORE_SPARES_H
#define TUTTI_CORE_SPARES_H

#include <stddef.h>

#include "core/lock.h"

/* All zero at first. `link` is where an object holds the pointer to the next one, in bytes from its start. */
struct tutti_spares {
    struct tutti_lock lock;
    void *first;
};

static inline void *tutti_spares_pop(struct tutti_spares *spares, size_t link) TUTTI_HOLDS(spares->lock)
{
    char *const object = spares->first;
    if (object)
        spares->first = *(void **)(void *)(object + link);
    return object;
}

static inline void tutti_spares_push(struct tutti_spares *spares, void *object, size_t link) TUTTI_HOLDS(spares->lock)
{
    *(void **)(void *)((char *)object + link) = spares->first;
    spares->first = object;
}

/* NULL: the list is empty. */
static inline void *tutti_spares_take(struct tutti_spares *spares, size_t link, int alone)
{
    tutti_lock_take_alone(&spares->lock, alone);
    void *const object = tutti_spares_pop(spares, link);
    tutti_lock_give(&spares->lock);
    return object;
}

static inline void tutti_spares_give(struct tutti_spares *spares, void *object, size_t link, int alone)
{
    tutti_lock_take_alone(&spares->lock, alone);
    tutti_spares_push(spares, object, link);
    tutti_lock_give(&spares->lock);
}

#endif
