/* A lock that is held for a few instructions, and seldom longer (some are held while the driver maps memory): one
 * atomic operation where no other thread has it, half of a mutex's, and no call. A thread that finds it taken sleeps
 * for some microseconds at a time. Local, safe from any thread; not recursive. */
#ifndef TUTTI_CORE_LOCK_H
#define TUTTI_CORE_LOCK_H

#include <stdatomic.h>

/* All zero at first. */
struct tutti_lock {
    atomic_int held; /* 1: by a thread */
};

void tutti_lock_wait(struct tutti_lock *lock); /* until it is this thread's */

/* 0: another thread has it, or this one. */
static inline int tutti_lock_try(struct tutti_lock *lock)
{
    return atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline void tutti_lock_take(struct tutti_lock *lock)
{
    if (__builtin_expect(!tutti_lock_try(lock), 0))
        tutti_lock_wait(lock);
}

static inline void tutti_lock_give(struct tutti_lock *lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* The same for what one thread at a time uses, where `alone` is 1: no atomic operation. The lock still says whether it
 * is held. */
static inline int tutti_lock_try_alone(struct tutti_lock *lock, int alone)
{
    if (!alone)
        return tutti_lock_try(lock);
    const int held = atomic_load_explicit(&lock->held, memory_order_relaxed);
    atomic_store_explicit(&lock->held, 1, memory_order_relaxed);
    return !held;
}

static inline void tutti_lock_take_alone(struct tutti_lock *lock, int alone)
{
    if (alone)
        atomic_store_explicit(&lock->held, 1, memory_order_relaxed);
    else
        tutti_lock_take(lock);
}

#endif
