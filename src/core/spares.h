/* Objects that are not in use, for the next ones: taken and given back some times for each message, so without a call
 * and without a mutex. The lock is held for a few instructions; a thread that finds it held spins, and offers the
 * processor to others where its holder is not running. Local, safe from any thread. */
#ifndef TUTTI_CORE_SPARES_H
#define TUTTI_CORE_SPARES_H

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "core/clock.h"

/* All zero at first. `link` is where an object holds the pointer to the next one, in bytes from its start. */
struct tutti_spares {
    atomic_int held;
    void *first;
};

static inline void tutti_spares_lock(struct tutti_spares *spares)
{
    enum { SPINS = 100 };
    while (__builtin_expect(atomic_exchange_explicit(&spares->held, 1, memory_order_acquire), 0)) {
        for (int i = 0; i < SPINS && atomic_load_explicit(&spares->held, memory_order_relaxed); i++)
            tutti_pause();
        if (atomic_load_explicit(&spares->held, memory_order_relaxed))
            sched_yield();
    }
}

static inline void tutti_spares_unlock(struct tutti_spares *spares)
{
    atomic_store_explicit(&spares->held, 0, memory_order_release);
}

/* NULL: there is none. */
static inline void *tutti_spares_take(struct tutti_spares *spares, size_t link)
{
    tutti_spares_lock(spares);
    char *const object = spares->first;
    if (object)
        spares->first = *(void **)(void *)(object + link);
    tutti_spares_unlock(spares);
    return object;
}

static inline void tutti_spares_give(struct tutti_spares *spares, void *object, size_t link)
{
    tutti_spares_lock(spares);
    *(void **)(void *)((char *)object + link) = spares->first;
    spares->first = object;
    tutti_spares_unlock(spares);
}

#endif
