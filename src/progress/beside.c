#include "progress/beside.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/affinity.h"
#include "core/status.h"
#include "progress/engine.h"

struct beside {
    void (*run)(void *with);
    void *with;
};

static void *beside_run(void *given)
{
    const struct beside job = *(struct beside *)given;
    free(given);
    tutti_thread_roam();
    job.run(job.with);
    return NULL;
}

int tutti_beside_start(void (*run)(void *with), void *with)
{
    struct beside *job = malloc(sizeof *job);
    sigset_t all, before;
    pthread_attr_t detached;
    pthread_t thread;
    if (!job)
        return TUTTI_ERR_SYSTEM;
    *job = (struct beside){run, with};
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int made = pthread_create(&thread, &detached, beside_run, job) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    if (!made)
        free(job);
    return made ? TUTTI_OK : TUTTI_ERR_SYSTEM;
}

/* ---- once in a process ---- */

enum { STATE_BITS = 2 };

static uint64_t beside_word_of(enum tutti_beside_state state)
{
    return (uint64_t)getpid() << STATE_BITS | state;
}

static enum tutti_beside_state state_in(uint64_t word)
{
    const enum tutti_beside_state state = (enum tutti_beside_state)(word & ((1U << STATE_BITS) - 1));
    return word == beside_word_of(state) ? state : TUTTI_BESIDE_NONE;
}

enum tutti_beside_state tutti_beside_state(const struct tutti_beside_once *once)
{
    return state_in(atomic_load_explicit(&once->word, memory_order_acquire));
}

static void once_run(void *given)
{
    struct tutti_beside_once *const once = given;
    const int status = once->run(once->with);
    atomic_store_explicit(&once->word, beside_word_of(status == TUTTI_OK ? TUTTI_BESIDE_DONE : TUTTI_BESIDE_FAILED),
                          memory_order_release);
}

enum tutti_beside_state tutti_beside_begin(struct tutti_beside_once *once, int (*run)(void *with), void *with)
{
    uint64_t word = atomic_load_explicit(&once->word, memory_order_acquire);
    while (state_in(word) == TUTTI_BESIDE_NONE) {
        if (!atomic_compare_exchange_weak(&once->word, &word, beside_word_of(TUTTI_BESIDE_RUNS)))
            continue;
        once->run = run;
        once->with = with;
        if (tutti_beside_start(once_run, once) != TUTTI_OK)
            atomic_store(&once->word, 0);
        return tutti_beside_state(once);
    }
    return state_in(word);
}

int tutti_beside_forget(struct tutti_beside_once *once)
{
    uint64_t failed = beside_word_of(TUTTI_BESIDE_FAILED);
    return atomic_compare_exchange_strong(&once->word, &failed, 0);
}

static int once_runs_not(void *once)
{
    return tutti_beside_state(once) != TUTTI_BESIDE_RUNS;
}

void tutti_beside_await(struct tutti_beside_once *once)
{
    if (!once_runs_not(once))
        (void)tutti_progress_wait(&(const struct tutti_wait){.done = once_runs_not, .with = once});
}
