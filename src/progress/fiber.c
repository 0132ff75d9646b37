/* Fibers by ucontext. Switches by setjmp, which leaves the signal mask alone (all are blocked here): no system call.
 * Sanitizers get each stack announced, and see swapcontext, which they support. */
#undef _FORTIFY_SOURCE /* its longjmp takes another stack for an error */
#include "progress/fiber.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "core/affinity.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/once.h"
#include "core/settings.h"
#include "core/status.h"
#include "progress/fiber_idle.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

enum {
    STACK_BYTES = 8 << 20, /* as a thread's: drivers compile on it. Only what is touched is there */
    GUARD_BYTES = 4096,
    KEPT = 16 /* stacks that wait for their next fiber */
};

/* Where a stack continues. */
struct context {
    ucontext_t full;
    jmp_buf quick;
    void *bottom;
    size_t size;
    void *fiber, *fake; /* of sanitizers */
};

struct fiber {
    struct tutti_fiber fiber; /* first */
    struct fiber *next;
    void (*run)(void *);
    void *with;
    void *stack;
    int begun, ended;
    struct context context;
};

atomic_int tutti_fibers_open;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all up to `kept` */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int alive, ending, asleep;
static uint64_t called_at; /* when the first fiber came for the thread that sleeps; 0: none came */
static struct fiber *fresh, **last_fresh = &fresh;
static struct fiber *idle;
static int kept;

/* Not 0: there may be fibers in `fresh`. The thread looks at it all the time, so it has a cache line of its own. */
static struct {
    _Alignas(64) atomic_int some;
} arrived;

/* Of the engine's thread alone. */
static struct context home;
static struct fiber *running;
static int moved;
static __thread struct fiber *here;

/* ---- switching ---- */

static void fiber_enter(void)
{
    struct fiber *fiber = running;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, (const void **)&home.bottom, &home.size);
#endif
    for (;;) { /* a stack that is kept continues here: a new context takes two system calls */
        fiber->run(fiber->with);
        tutti_fiber_catch_up();
        fiber->ended = 1;
        tutti_fiber_yield();
    }
}

/* Continues at `to`; returns when another fiber continues at `from`. */
static void leave_for(struct context *from, struct context *to, int first)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from->fake, to->bottom, to->size);
    swapcontext(&from->full, &to->full);
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
    (void)first;
#elif defined(__SANITIZE_THREAD__)
    from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->fiber, 0);
    swapcontext(&from->full, &to->full);
    (void)first;
#else
    if (_setjmp(from->quick) != 0)
        return;
    if (first)
        setcontext(&to->full);
    _longjmp(to->quick, 1);
#endif
}

struct tutti_fiber *tutti_fiber_here(void)
{
    return here ? &here->fiber : NULL;
}

void tutti_fiber_yield(void)
{
    struct fiber *fiber = here;
    if (!fiber)
        return;
    here = NULL;
    leave_for(&fiber->context, &home, 0);
    here = fiber;
}

void tutti_fiber_moved(void)
{
    if (here)
        moved = 1;
}

void tutti_fiber_lock(pthread_mutex_t *mutex)
{
    if (!here) {
        pthread_mutex_lock(mutex);
        return;
    }
    while (pthread_mutex_trylock(mutex) != 0)
        tutti_fiber_yield();
}

TUTTI_UNGUARDED void tutti_fiber_take_later(struct tutti_lock *of)
{
    if (!here) {
        tutti_lock_wait(of);
        return;
    }
    while (!tutti_lock_try(of))
        tutti_fiber_yield();
}

/* ---- stacks ---- */

static struct fiber *new_fiber(void)
{
    struct fiber *fiber = calloc(1, sizeof *fiber);
    void *at = fiber ? mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)
                     : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(fiber);
        return NULL;
    }
    (void)madvise(at, STACK_BYTES, MADV_NOHUGEPAGE); /* or each took a huge page */
    (void)mprotect(at, GUARD_BYTES, PROT_NONE);
    fiber->stack = at;
    fiber->context.bottom = at;
    fiber->context.size = STACK_BYTES;
    return fiber;
}

static void free_fiber(struct fiber *fiber)
{
#if defined(__SANITIZE_THREAD__)
    if (fiber->begun)
        __tsan_destroy_fiber(fiber->context.fiber);
#endif
    munmap(fiber->stack, STACK_BYTES);
    free(fiber);
}

/* The lock is held. */
static struct fiber *take_fiber(void)
{
    struct fiber *fiber = idle;
    if (!fiber)
        return new_fiber();
    idle = fiber->next;
    kept--;
    return fiber;
}

/* Of the engine's thread. It does not sleep until the lock is free: a thread that starts a fiber would have to wake it.
 */
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

static void give_fiber(struct fiber *fiber)
{
    lock_spinning();
    const int keep = kept < KEPT;
    if (keep) {
        fiber->next = idle;
        idle = fiber;
        kept++;
    }
    pthread_mutex_unlock(&lock);
    if (!keep)
        free_fiber(fiber);
}

/* ---- the thread ---- */

static void fiber_resume(struct fiber *fiber)
{
    const int first = !fiber->begun;
    running = fiber;
    if (first) {
#if defined(__SANITIZE_THREAD__)
        fiber->context.fiber = __tsan_create_fiber(0);
#endif
        getcontext(&fiber->context.full);
        fiber->context.full.uc_stack.ss_sp = fiber->stack;
        fiber->context.full.uc_stack.ss_size = STACK_BYTES;
        fiber->context.full.uc_link = NULL;
        makecontext(&fiber->context.full, fiber_enter, 0);
        fiber->begun = 1;
    }
    here = fiber;
    leave_for(&home, &fiber->context, first);
    here = NULL;
}

/* Runs all fibers of the list in turns until none is left; includes fibers that are added meanwhile. */
static void run_all(struct fiber *first)
{
    struct tutti_fiber_idle still = {0};
    while (first) {
        tutti_fiber_idle_round();
        struct fiber **at = &first;
        while (*at) {
            struct fiber *fiber = *at;
            fiber_resume(fiber);
            if (!fiber->ended) {
                at = &fiber->next;
                continue;
            }
            *at = fiber->next;
            moved = 1;
            give_fiber(fiber);
            atomic_fetch_sub_explicit(&tutti_fibers_open, 1, memory_order_release);
        }
        if (atomic_load_explicit(&arrived.some, memory_order_relaxed)) {
            atomic_store_explicit(&arrived.some, 0, memory_order_relaxed);
            lock_spinning();
            *at = fresh;
            fresh = NULL;
            last_fresh = &fresh;
            pthread_mutex_unlock(&lock);
            moved = 1;
        }
        if (moved) {
            moved = 0;
            still = (struct tutti_fiber_idle){0};
        } else if (first) {
            tutti_fiber_idle_pause(&still);
        }
    }
}

static void *fiber_engine(void *unused)
{
    (void)unused;
    tutti_thread_prompt();
#if defined(__SANITIZE_THREAD__)
    home.fiber = __tsan_get_current_fiber();
#endif
    tutti_thread_roam();
    uint64_t since = 0; /* when the last fiber ended */
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!fresh && !ending) {
            asleep = 1;
            pthread_cond_wait(&wake, &lock);
            asleep = 0;
        }
        if (!fresh)
            break;
        if (since)
            tutti_fiber_idle_ended(since, called_at ? called_at : tutti_now_ns());
        called_at = 0;
        struct fiber *first = fresh;
        fresh = NULL;
        last_fresh = &fresh;
        pthread_mutex_unlock(&lock);
        run_all(first);
        since = tutti_now_ns();
        tutti_fiber_idle_linger(since, &arrived.some);
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
    alive = 0;
    fresh = NULL;
    last_fresh = &fresh;
    idle = NULL; /* their stacks would continue on the parent's thread */
    kept = 0;
    atomic_store(&arrived.some, 0);
    asleep = 0;
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
    struct fiber *fiber = take_fiber();
    int status = !fiber ? TUTTI_ERR_MEMORY : alive ? TUTTI_OK : fiber_start();
    if (status == TUTTI_OK) {
        fiber->run = run;
        fiber->with = with;
        fiber->ended = 0;
        fiber->fiber.holds = fiber->fiber.apart = fiber->fiber.rests = 0;
        fiber->next = NULL;
        *last_fresh = fiber;
        last_fresh = &fiber->next;
        atomic_fetch_add_explicit(&tutti_fibers_open, 1, memory_order_relaxed);
    } else if (fiber) {
        fiber->next = idle;
        idle = fiber;
        kept++;
    }
    const int sleeps = asleep;
    if (sleeps && !called_at)
        called_at = tutti_now_ns();
    pthread_mutex_unlock(&lock);
    /* Without the lock, for which the thread would wait otherwise. */
    if (status == TUTTI_OK) {
        atomic_store_explicit(&arrived.some, 1, memory_order_relaxed);
        if (sleeps)
            pthread_cond_signal(&wake);
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
    while (idle) {
        struct fiber *fiber = idle;
        idle = fiber->next;
        free_fiber(fiber);
    }
    kept = 0;
    pthread_mutex_unlock(&lock);
}
