/* Objects that are not in use, for the next ones: taken and given back some times for each message. The lock is held
 * for a few instructions. It costs one atomic operation where no other thread has it, half of a mutex's; otherwise the
 * thread sleeps for some microseconds. Local, safe from any thread. */
#ifndef TUTTI_CORE_SPARES_H
#define TUTTI_CORE_SPARES_H

#include <stdatomic.h>
#include <stddef.h>

/* All zero at first. `link` is where an object holds the pointer to the next one, in bytes from its start. */
struct tutti_spares {
    atomic_int held; /* 1: by a thread */
    void *first;
};

void tutti_spares_wait(struct tutti_spares *spares); /* until the lock is this thread's */

static inline void tutti_spares_lock(struct tutti_spares *spares)
{
    if (__builtin_expect(atomic_exchange_explicit(&spares->held, 1, memory_order_acquire) != 0, 0))
        tutti_spares_wait(spares);
}

static inline void tutti_spares_unlock(struct tutti_spares *spares)
{
    atomic_store_explicit(&spares->held, 0, memory_order_release);
}

/* NULL: the list is empty. */
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
