/* The list of fibers, the thread that resumes them, and turns of other threads. */
#include "progress/fiber.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/affinity.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/once.h"
#include "core/status.h"
#include "progress/fiber_idle.h"
#include "progress/fiber_switch.h"
#include "progress/grace.h"
#include "progress/pause.h"

enum {
    NAP_NS = 1000000, /* of the engine's thread while another one resumes the fibers: so long may pass without a turn */
    TRIES = 64,       /* to resume them, before it gives the core to the thread that does */
    TRY_US = 20,
    DRIVES = 1, /* of a wait that makes turns */
    DRIVES_BLOCKING = 2
};

atomic_int tutti_fibers_open;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all up to `last_fresh` */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int alive, ending;
static int called;         /* a fiber came for the thread that sleeps; */
static uint64_t called_at; /* the first one then */
static struct tutti_fiber_stack *fresh, **last_fresh = &fresh;

/* Written with the lock held. */
static atomic_int asleep; /* 1: the thread sleeps until it is signalled; */
static atomic_int naps;   /* 1: until it is signalled, or NAP_NS */

/* Not 0: there may be fibers in `fresh`. The thread looks at it all the time, so it has a cache line of its own. */
static struct {
    _Alignas(64) atomic_int some;
} arrived;

/* 1: a thread resumes the fibers: the engine's, or another one for a turn. The rest is that thread's. */
static struct {
    _Alignas(64) atomic_int taken;
    int engines; /* 1: it is the engine's */
    int blocks;  /* 1: it may block */
    int moved;
    struct tutti_fiber_stack *first;
} turn;

struct tutti_grace tutti_fibers_grace;
static atomic_int drivers;  /* waits that make turns until they end; */
static atomic_int blockers; /* those that may block */
static atomic_int homes;    /* fibers that only a thread which may block resumes */

/* ---- in fibers ---- */

void tutti_fiber_moved(void)
{
    if (tutti_fiber_here())
        turn.moved = 1;
}

void tutti_fiber_lock(pthread_mutex_t *mutex)
{
    if (!tutti_fiber_here()) {
        pthread_mutex_lock(mutex);
        return;
    }
    while (pthread_mutex_trylock(mutex) != 0)
        tutti_fiber_yield();
}

TUTTI_UNGUARDED void tutti_fiber_take_later(struct tutti_lock *of)
{
    if (!tutti_fiber_here()) {
        tutti_lock_wait(of);
        return;
    }
    while (!tutti_lock_try(of))
        tutti_fiber_yield();
}

int tutti_fiber_is_guest(void)
{
    return tutti_fiber_here() && !turn.engines;
}

void tutti_fiber_rest(void)
{
    const struct tutti_fiber *const fiber = tutti_fiber_here();
    if (fiber && fiber->rests > 0 && !turn.engines)
        tutti_fiber_yield();
}

static void wake_engine(void)
{
    pthread_mutex_lock(&lock);
    const int sleeps = asleep || naps;
    pthread_mutex_unlock(&lock);
    if (sleeps)
        pthread_cond_signal(&wake);
}

void tutti_fiber_home_begin(void)
{
    struct tutti_fiber *const fiber = tutti_fiber_here();
    if (!fiber || fiber->home++ > 0)
        return;
    atomic_fetch_add(&homes, 1);
    if (turn.engines || turn.blocks)
        return;
    wake_engine();
    while (!turn.engines && !turn.blocks)
        tutti_fiber_yield();
}

void tutti_fiber_home_end(void)
{
    struct tutti_fiber *const fiber = tutti_fiber_here();
    if (fiber && --fiber->home == 0)
        atomic_fetch_sub(&homes, 1);
}

/* ---- a turn ---- */

/* It does not sleep until the lock is free: a thread that starts a fiber would have to wake it. */
static void lock_spinning(void)
{
    enum { SPINS = 64 };
    for (int spin = 0; pthread_mutex_trylock(&lock) != 0; spin++) {
        if (spin < SPINS)
            tutti_pause();
        else
            sched_yield();
    }
}

static int turn_take(void)
{
    return atomic_load_explicit(&turn.taken, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&turn.taken, 1, memory_order_acquire) == 0;
}

static void turn_give(void)
{
    atomic_store_explicit(&turn.taken, 0, memory_order_release);
}

static void take_fresh(struct tutti_fiber_stack **end)
{
    if (!atomic_load_explicit(&arrived.some, memory_order_relaxed))
        return;
    atomic_store_explicit(&arrived.some, 0, memory_order_relaxed);
    lock_spinning();
    *end = fresh;
    fresh = NULL;
    last_fresh = &fresh;
    pthread_mutex_unlock(&lock);
    turn.moved = 1;
}

static void end_fiber(struct tutti_fiber_stack *stack)
{
    lock_spinning();
    stack = tutti_fiber_stack_keep(stack);
    pthread_mutex_unlock(&lock);
    if (stack)
        tutti_fiber_stack_free(stack);
    turn.moved = 1;
    atomic_fetch_sub_explicit(&tutti_fibers_open, 1, memory_order_release);
}

/* Resumes all fibers once that this thread may resume. 1 if something has moved. */
static int resume_all(void)
{
    struct tutti_fiber_stack **at = &turn.first;
    while (*at)
        at = &(*at)->next;
    tutti_fiber_idle_round();
    take_fresh(at);
    for (at = &turn.first; *at;) {
        struct tutti_fiber_stack *const stack = *at;
        if (turn.engines || turn.blocks || !stack->fiber.home)
            tutti_fiber_resume(stack);
        if (!stack->ended) {
            at = &stack->next;
            continue;
        }
        *at = stack->next;
        end_fiber(stack);
    }
    const int moved = turn.moved;
    turn.moved = 0;
    return moved;
}

/* ---- other threads ---- */

static int turn_make(int blocks)
{
    int cancel;
    if (tutti_fiber_here() || (!blocks && atomic_load_explicit(&homes, memory_order_relaxed) > 0) || !turn_take())
        return 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    turn.blocks = blocks;
    resume_all();
    turn.blocks = 0;
    turn_give();
    pthread_setcancelstate(cancel, NULL);
    return 1;
}

int tutti_fibers_turn(void)
{
    return turn_make(0);
}

int tutti_fibers_drive(int *drives, int blocks)
{
    if (!turn_make(blocks)) {
        if (!*drives)
            tutti_grace_want(&tutti_fibers_grace, tutti_now_ns());
        return 0;
    }
    if (!*drives) {
        atomic_fetch_add(&blockers, blocks);
        atomic_fetch_add(&drivers, 1);
    }
    return *drives = blocks ? DRIVES_BLOCKING : DRIVES;
}

void tutti_fibers_leave(const int *drives)
{
    if (!*drives)
        return;
    pthread_mutex_lock(&lock);
    atomic_fetch_sub(&blockers, *drives == DRIVES_BLOCKING);
    const int last = atomic_fetch_sub(&drivers, 1) == 1,
              waits = last && atomic_load(&naps) && atomic_load(&tutti_fibers_open) > 0;
    pthread_mutex_unlock(&lock);
    if (waits)
        pthread_cond_signal(&wake);
}

int tutti_fibers_unattended(void)
{
    return atomic_load_explicit(&asleep, memory_order_relaxed) || atomic_load_explicit(&naps, memory_order_relaxed);
}

/* ---- the thread ---- */

/* 1: waits of other threads make the turns of all fibers. */
static int is_driven(void)
{
    return atomic_load(&drivers) > 0 && (atomic_load(&homes) == 0 || atomic_load(&blockers) > 0);
}

/* 0: other threads make the turns. */
static int engine_take(void)
{
    for (int try = 0; !turn_take(); try++) {
        if (is_driven())
            return 0;
        if (try < TRIES)
            tutti_pause();
        else
            tutti_sleep_us(TRY_US);
    }
    return turn.engines = 1;
}

static void engine_give(void)
{
    turn.engines = 0;
    turn_give();
}

/* Resumes the fibers until none is open, or other threads make the turns. While this thread may lose its core, they
 * can. */
static void run_all(void)
{
    struct tutti_fiber_idle still = {0};
    if (!engine_take())
        return;
    for (;;) {
        if (resume_all()) {
            still = (struct tutti_fiber_idle){0};
        } else if (!turn.first) {
            break;
        } else if (!tutti_fiber_idle_spin(&still)) {
            engine_give();
            tutti_fiber_idle_rest(&still);
            if (!engine_take())
                return;
        }
    }
    engine_give();
}

/* The lock is held. While others make the turns, this thread looks on: each of them may be stuck in a call that waits
 * for a fiber, or be in the program's code. */
static void look_on(void)
{
    struct timespec until;
    for (unsigned seen, now = tutti_fiber_idle_rounds(); is_driven(); now = tutti_fiber_idle_rounds()) {
        seen = now;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += NAP_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        atomic_store_explicit(&naps, 1, memory_order_relaxed);
        pthread_cond_timedwait(&wake, &lock, &until);
        atomic_store_explicit(&naps, 0, memory_order_relaxed);
        if (tutti_fiber_idle_rounds() == seen)
            break;
    }
}

static void *fiber_engine(void *unused)
{
    (void)unused;
    tutti_thread_prompt();
    tutti_thread_roam();
    uint64_t since = 0; /* when the last fiber ended, as far as this thread knows */
    pthread_mutex_lock(&lock);
    for (;;) {
        while (atomic_load(&tutti_fibers_open) == 0 && !called && !ending) {
            atomic_store_explicit(&asleep, 1, memory_order_relaxed);
            pthread_cond_wait(&wake, &lock);
            atomic_store_explicit(&asleep, 0, memory_order_relaxed);
        }
        if (atomic_load(&tutti_fibers_open) == 0 && ending)
            break;
        if (since)
            tutti_fiber_idle_ended(since, called ? called_at : tutti_now_ns());
        const int slept = called;
        called = 0;
        look_on();
        pthread_mutex_unlock(&lock);
        const int driven = !slept && tutti_grace_leave(&tutti_fibers_grace, is_driven);
        run_all();
        if (!slept)
            tutti_grace_end(&tutti_fibers_grace, driven);
        since = tutti_now_ns();
        tutti_fiber_idle_linger(since, &tutti_fibers_open);
        lock_spinning();
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The lock is held. Signals are the program's: none is delivered to this thread. */
static int fiber_start(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    alive = pthread_create(&thread, NULL, fiber_engine, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (alive)
        return TUTTI_OK;
    tutti_error("the thread that runs nonblocking calls could not be made");
    return TUTTI_ERR_SYSTEM;
}

/* After a fork the child lacks the threads: nothing is done there any more, and nothing is waited for. */
static void fiber_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread of the parent may have held it, */
    wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;   /* or slept on this */
    alive = called = 0;
    fresh = turn.first = NULL;
    last_fresh = &fresh;
    tutti_fiber_stacks_forget();
    atomic_store(&arrived.some, 0);
    atomic_store(&turn.taken, 0);
    turn.engines = turn.blocks = turn.moved = 0;
    atomic_store(&asleep, 0);
    atomic_store(&naps, 0);
    atomic_store(&drivers, 0);
    atomic_store(&blockers, 0);
    atomic_store(&homes, 0);
    atomic_store(&tutti_fibers_open, 0);
}

static void fiber_register_fork(void)
{
    pthread_atfork(NULL, NULL, fiber_forget);
}

int tutti_fiber_start(void (*run)(void *with), void *with)
{
    static struct tutti_once once = TUTTI_ONCE_INIT;
    tutti_once(&once, fiber_register_fork);
    pthread_mutex_lock(&lock);
    struct tutti_fiber_stack *stack = tutti_fiber_stack_take(run, with);
    const int status = !stack ? TUTTI_ERR_MEMORY : alive ? TUTTI_OK : fiber_start();
    if (status == TUTTI_OK) {
        *last_fresh = stack;
        last_fresh = &stack->next;
        atomic_fetch_add_explicit(&tutti_fibers_open, 1, memory_order_relaxed);
    } else if (stack) {
        stack = tutti_fiber_stack_keep(stack);
    }
    const int sleeps = asleep || (naps && atomic_load(&drivers) == 0);
    if (asleep && !called) {
        called = 1;
        called_at = tutti_now_ns();
    }
    pthread_mutex_unlock(&lock);
    /* Without the lock, for which the thread would wait otherwise. */
    if (status == TUTTI_OK) {
        atomic_store_explicit(&arrived.some, 1, memory_order_relaxed);
        if (sleeps)
            pthread_cond_signal(&wake);
    } else if (stack) {
        tutti_fiber_stack_free(stack);
    }
    return status;
}

void tutti_fibers_end(void)
{
    pthread_mutex_lock(&lock);
    const int there = alive;
    ending = 1;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    if (there)
        pthread_join(thread, NULL);
    pthread_mutex_lock(&lock);
    alive = ending = 0;
    tutti_fiber_stacks_free();
    pthread_mutex_unlock(&lock);
}
