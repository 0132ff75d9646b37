/* The engine's thread: one a process, for what must move while the program does something else. It runs *fibers*: each
 * is a function that may wait, with a stack of its own; where one waits, the others run. So ranks may begin
 * fibers in any order, and no fiber delays another. The thread is made with the first fiber, sleeps without fibers,
 * with all signals blocked, and calls nothing of the MPI.
 *
 * To wake the thread takes 10 to 500 us. While it sleeps, or has given its core away, other threads make *turns*: one
 * resumes each fiber, which runs on that thread until it waits again. So a fiber may continue on another thread after
 * each wait. One thread at a time makes turns.
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
    int waits; /* between tutti_waiting_begin() and tutti_waiting_end(), see coll/algorithm.h */
    int home;  /* between tutti_fiber_home_begin() and tutti_fiber_home_end() */
    int rests; /* work that is put off */
    struct tutti_fiber_rest {
        void (*run)(void *with);
        void *with;
    } rest[TUTTI_FIBER_REST];
};
/* The calling fiber; NULL on all other threads. */
struct tutti_fiber *tutti_fiber_here(void);
/* The calling fiber; on all other threads a name of the thread. */
const void *tutti_fiber_self(void);
/* 1 in a fiber that another thread than the engine's runs. */
int tutti_fiber_is_guest(void);

/* Work for which nothing waits, such as preparing a launch for the next call. put_off: 1: the work is noted, once; 0:
 * the caller does it, since it is not in a fiber, or has put off too much. catch_up: does what the calling fiber has
 * put off; a worker calls it after each job (sched/worker.h), and the engine at the end of a fiber. */
int tutti_fiber_put_off(void (*run)(void *with), void *with);
void tutti_fiber_catch_up(void);

/* Only put-off work is left: in a turn of another thread, the fiber waits for the next turn. */
void tutti_fiber_rest(void);

/* Between them a fiber runs on a thread that may block: the engine's, or one that waits for fibers alone. What it calls
 * may take long or wait for the program. begin() waits for such a thread. Calls may be nested; on other threads nothing
 * happens. */
void tutti_fiber_home_begin(void);
void tutti_fiber_home_end(void);

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
static inline int tutti_fibers_any(void)
{
    return atomic_load_explicit(&tutti_fibers_open, memory_order_relaxed) != 0;
}

/* Turns of a thread of the program. It holds no lock. turn: 1: each fiber has run until it waits; 0: another thread
 * makes turns, or the caller is in a poll or in a fiber. drive: the same in a wait; once it has made a turn, the
 * engine's thread leaves the turns to this wait until leave(), but looks on. *drives: 0 at first. blocks: 1: all that
 * the wait waits for are fibers, so that it may block in one; the same in all calls of a wait. */
int tutti_fibers_turn(void);
int tutti_fibers_drive(int *drives, int blocks);
void tutti_fibers_leave(const int *drives);
/* 1: the engine's thread sleeps, or leaves the turns to others. */
int tutti_fibers_unattended(void);

/* Local. Waits until no fiber is open and ends the thread; the next fiber makes a new one. */
void tutti_fibers_end(void);

/* What another thread has seen of the fibers. All zero at first. */
struct tutti_fiber_seen {
    unsigned rounds;
    int once;
};
/* For a thread that waits for a fiber, and can make no turn. If there was no turn since the last call with `seen`, this
 * thread naps, so that the other one gets its core. */
void tutti_fiber_leave_core(struct tutti_fiber_seen *seen);

#endif
