#include "progress/helper.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "core/affinity.h"
#include "core/log.h"
#include "core/once.h"
#include "progress/engine.h"

enum {
    LOOK_NS = 1000000, /* between looks: so long may pass without a poll */
    IDLE_LOOKS = 100,  /* with nothing open, before it sleeps: a program that sends does not wake it each time */
    BUSY_ROUNDS = 64,  /* polls in a row, then with pauses */
    PAUSE_LEAST_NS = 20000
};

atomic_int tutti_helper_state;
atomic_uint tutti_helper_others;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int alive;
static atomic_int ending;
static void (*poll_all)(void);
static __thread int here;

int tutti_helper_here(void)
{
    return here;
}

static void helper_nap(long ns)
{
    nanosleep(&(const struct timespec){0, ns}, NULL);
}

static int is_busy(void)
{
    return atomic_load(&tutti_progress_open) != 0;
}

static int is_left_alone(unsigned seen)
{
    return !atomic_load(&ending) && is_busy() &&
           atomic_load_explicit(&tutti_helper_others, memory_order_relaxed) == seen;
}

/* Watches; polls while steps are open and no other thread has polled between two looks. Returns when nothing has been
 * open for some time. */
static void helper_look(void)
{
    for (int idle = 0; idle < IDLE_LOOKS && !atomic_load(&ending);) {
        const unsigned seen = atomic_load_explicit(&tutti_helper_others, memory_order_relaxed);
        helper_nap(LOOK_NS);
        idle = is_busy() ? 0 : idle + 1;
        long pause = PAUSE_LEAST_NS;
        for (int round = 0; is_left_alone(seen); round++) {
            poll_all();
            if (round < BUSY_ROUNDS) {
                sched_yield();
            } else {
                helper_nap(pause);
                pause = pause * 2 < LOOK_NS ? pause * 2 : LOOK_NS;
            }
        }
    }
}

static void *helper_help(void *unused)
{
    (void)unused;
    here = 1;
    tutti_thread_roam();
    pthread_mutex_lock(&lock);
    while (!atomic_load(&ending)) {
        pthread_mutex_unlock(&lock);
        helper_look();
        pthread_mutex_lock(&lock);
        atomic_store(&tutti_helper_state, TUTTI_HELPER_ASLEEP);
        /* A step that was opened before this store has not woken the thread. */
        while (!atomic_load(&ending) && !is_busy() && atomic_load(&tutti_helper_state) == TUTTI_HELPER_ASLEEP)
            pthread_cond_wait(&wake, &lock);
        atomic_store(&tutti_helper_state, TUTTI_HELPER_AWAKE);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The lock is held. Signals are the program's: none is delivered to this thread. If it cannot be made, the threads of
 * the program poll the steps while they wait, as under other levels. */
static void helper_start(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    alive = pthread_create(&thread, NULL, helper_help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_store(&tutti_helper_state, alive ? TUTTI_HELPER_AWAKE : TUTTI_HELPER_NONE);
    if (!alive)
        tutti_warn("the thread that helps several threads of the program could not be made");
}

void tutti_helper_wake(void)
{
    pthread_mutex_lock(&lock);
    if (atomic_load(&tutti_helper_state) == TUTTI_HELPER_ASLEEP) {
        if (alive) {
            atomic_store(&tutti_helper_state, TUTTI_HELPER_AWAKE);
            pthread_cond_signal(&wake);
        } else {
            helper_start();
        }
    }
    pthread_mutex_unlock(&lock);
}

/* After a fork the child lacks the threads. */
static void helper_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread of the parent may have held it */
    alive = 0;
    atomic_store(&tutti_helper_state, TUTTI_HELPER_NONE);
}

static void helper_register_fork(void)
{
    pthread_atfork(NULL, NULL, helper_forget);
}

void tutti_helper_begin(void (*poll)(void))
{
    static struct tutti_once once = TUTTI_ONCE_INIT;
    tutti_once(&once, helper_register_fork);
    poll_all = poll;
    atomic_store(&ending, 0);
    atomic_store(&tutti_helper_state, TUTTI_HELPER_ASLEEP);
}

void tutti_helper_end(void)
{
    pthread_mutex_lock(&lock);
    const int there = alive;
    alive = 0;
    atomic_store(&ending, 1);
    atomic_store(&tutti_helper_state, TUTTI_HELPER_NONE);
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    if (there)
        pthread_join(thread, NULL);
    atomic_store(&tutti_helper_state, TUTTI_HELPER_NONE);
}
