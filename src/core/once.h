/* What is done once in a process, by the first thread that needs it; others wait until it is done. Later it costs a
 * load instead of a call. */
#ifndef TUTTI_CORE_ONCE_H
#define TUTTI_CORE_ONCE_H

#include <pthread.h>
#include <stdatomic.h>

struct tutti_once {
    pthread_once_t once;
    atomic_int done;
};
#define TUTTI_ONCE_INIT                                                                                                \
    {                                                                                                                  \
        PTHREAD_ONCE_INIT, 0                                                                                           \
    }

/* Safe from any thread. */
static inline void tutti_once(struct tutti_once *once, void (*run)(void))
{
    if (__builtin_expect(atomic_load_explicit(&once->done, memory_order_acquire), 1))
        return;
    pthread_once(&once->once, run);
    atomic_store_explicit(&once->done, 1, memory_order_release);
}

#endif
