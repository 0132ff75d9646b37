/* A lock that is held for a few instructions, and seldom longer (some are held while the driver maps memory): one
 * atomic operation where no other thread has it, half of a mutex's, and no call. A thread that finds it taken sleeps
 * for some microseconds at a time. Local, safe from any thread; not recursive. */
#ifndef TUTTI_CORE_LOCK_H
#define TUTTI_CORE_LOCK_H

#include <stdatomic.h>

/* What a lock guards, for the analysis of Clang (tests/laws/locks.py); other compilers see nothing.
 * TUTTI_GUARDED(lock): behind a variable that only threads with the lock read or write. TUTTI_HOLDS(lock): behind the
 * parameters of a function that its callers call with the lock held. TUTTI_UNGUARDED: before a function in which the
 * analysis cannot follow the lock, or which no other thread can disturb. */
#ifdef __clang__
#define TUTTI_LOCKS(...) __attribute__((__VA_ARGS__))
#else
#define TUTTI_LOCKS(...)
#endif
#define TUTTI_GUARDED(lock) TUTTI_LOCKS(guarded_by(lock))
#define TUTTI_HOLDS(lock)   TUTTI_LOCKS(requires_capability(lock))
#define TUTTI_UNGUARDED     TUTTI_LOCKS(no_thread_safety_analysis)
#define TUTTI_TAKES(lock)   TUTTI_LOCKS(acquire_capability(lock))
#define TUTTI_TRIES(lock)   TUTTI_LOCKS(try_acquire_capability(1, lock))
#define TUTTI_GIVES(lock)   TUTTI_LOCKS(release_capability(lock))

/* All zero at first. */
struct TUTTI_LOCKS(capability("lock")) tutti_lock {
    atomic_int held; /* 1: by a thread */
};

void tutti_lock_wait(struct tutti_lock *lock) TUTTI_TAKES(*lock); /* until it is this thread's */

/* 0: another thread has it, or this one. */
TUTTI_UNGUARDED static inline int tutti_lock_try(struct tutti_lock *lock) TUTTI_TRIES(*lock)
{
    return atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

TUTTI_UNGUARDED static inline void tutti_lock_take(struct tutti_lock *lock) TUTTI_TAKES(*lock)
{
    if (__builtin_expect(!tutti_lock_try(lock), 0))
        tutti_lock_wait(lock);
}

TUTTI_UNGUARDED static inline void tutti_lock_give(struct tutti_lock *lock) TUTTI_GIVES(*lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* For the analysis: another function has taken it. */
TUTTI_UNGUARDED static inline void tutti_lock_held(const struct tutti_lock *lock) TUTTI_LOCKS(assert_capability(*lock))
{
    (void)lock;
}

/* The same for what one thread at a time uses, where `alone` is 1: no atomic operation. The lock still says whether it
 * is held. */
TUTTI_UNGUARDED static inline int tutti_lock_try_alone(struct tutti_lock *lock, int alone) TUTTI_TRIES(*lock)
{
    if (!alone)
        return tutti_lock_try(lock);
    const int held = atomic_load_explicit(&lock->held, memory_order_relaxed);
    atomic_store_explicit(&lock->held, 1, memory_order_relaxed);
    return !held;
}

TUTTI_UNGUARDED static inline void tutti_lock_take_alone(struct tutti_lock *lock, int alone) TUTTI_TAKES(*lock)
{
    if (alone)
        atomic_store_explicit(&lock->held, 1, memory_order_relaxed);
    else
        tutti_lock_take(lock);
}

#endif
