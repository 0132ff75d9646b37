/* The engine's thread: one a process, for what must move while the program does something else. It runs *fibers*: each
 * is a function that may wait, with a stack of its own; where one waits, the others run. So ranks may begin
 * fibers in any order, and no fiber delays another. The thread is made with the first fiber, sleeps without fibers,
 * with all signals blocked, and calls nothing of the MPI.
 *
 * A fiber waits as everybody does, by the engine's wait. What must not happen is that it sleeps in something that only
 * another fiber can end: locks that are held across a wait are taken by tutti_fiber_lock(). */
#ifndef TUTTI_PROGRESS_FIBER_H
#define TUTTI_PROGRESS_FIBER_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/lock.h"

/* Local; returns at once. `run` is called with `with` on the engine's thread; nothing of the fiber is left when it has
 * returned. TUTTI_ERR_MEMORY or TUTTI_ERR_SYSTEM (no thread): nothing was begun. */
int tutti_fiber_start(void (*run)(void *with), void *with);

enum { TUTTI_FIBER_REST = 4 };

/* A fiber, as it sees itself. */
struct tutti_fiber {
    int holds; /* between waiting_begin and waiting_end of a device, see device.h */
    int apart; /* between apart_begin and apart_end */
    int rests; /* work that is put off */
    struct tutti_fiber_rest {
        void (*run)(void *with);
        void *with;
    } rest[TUTTI_FIBER_REST];
};
/* The calling fiber; NULL on all other threads. */
struct tutti_fiber *tutti_fiber_here(void);

/* Work for which nothing waits, such as preparing a launch for the next call. put_off: 1: the work is noted, once; 0:
 * the caller does it, since it is not in a fiber, or has put off too much. catch_up: does what the calling fiber has
 * put off; a worker calls it after each job (sched/worker.h), and the engine at the end of a fiber. */
int tutti_fiber_put_off(void (*run)(void *with), void *with);
void tutti_fiber_catch_up(void);

/* Lets the other fibers go on; on other threads nothing happens. The thread pauses by TUTTI_WAIT where none of them has
 * anything to do. */
void tutti_fiber_yield(void);
/* An event happened: the thread looks again without a pause. */
void tutti_fiber_moved(void);
/* pthread_mutex_lock(), for locks that a fiber may hold while it waits. */
void tutti_fiber_lock(pthread_mutex_t *mutex);
/* The same of a lock of the other kind. */
void tutti_fiber_take_later(struct tutti_lock *of) TUTTI_TAKES(*of);
TUTTI_UNGUARDED static inline void tutti_fiber_take(struct tutti_lock *of) TUTTI_TAKES(*of)
{
    if (__builtin_expect(!tutti_lock_try(of), 0))
        tutti_fiber_take_later(of);
}

/* Fibers that have not ended. */
extern atomic_int tutti_fibers_open;

/* Local. Waits until no fiber is open and ends the thread; the next fiber makes a new one. */
void tutti_fibers_end(void);

/* What another thread has seen of the engine's thread. All zero at first. */
struct tutti_fiber_seen {
    unsigned rounds;
    int once;
};
/* For a thread that waits for a fiber. If the engine's thread has done nothing since the last call with `seen`, this
 * thread naps, so that the other one gets its core. */
void tutti_fiber_leave_core(struct tutti_fiber_seen *seen);

#endif
