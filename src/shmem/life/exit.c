/* The end of the program on all PEs: by tshmem_global_exit(), by errors that end it, and by exit() if start_pes() began
 * it.
 *
 * The PE that ends the program publishes it and calls exit(), so that exit handlers run and streams of stdio are
 * written. Then it asks the launcher to end all processes. PEs that wait in a call of Tutti read it there and call
 * exit() too; they do not return to the program. PEs that compute are ended by the launcher. A thread ends the
 * process if an exit handler hangs. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "progress/engine.h"
#include "progress/pause.h"
#include "shmem/far.h"
#include "shmem/here.h"
#include "shmem/life/life.h"

enum { NOBODY, LEADS, FOLLOWS };
enum {
    HANDLERS_S = 3,  /* time for handlers and exit() */
    FOLLOWERS_S = 3, /* time for which a PE that follows waits for its end */
    PIPES_MS = 30,   /* time in which launchers read what was written: Hydra forgets it at the abort */
    NOTICE_MS = 100, /* time in which waiting PEs read the notice */
    OTHERS_MS = 2000 /* time for their exit() */
};
enum { READ = 1, DONE }; /* struct tutti_shmem_control, ended */

static atomic_int role;
static pthread_t ender;
static int code;
static int implicit; /* start_pes() has begun the address space */

static int is_ending(void)
{
    return atomic_load(&role) != NOBODY && pthread_equal(ender, pthread_self());
}

static int exit_never(void *unused)
{
    (void)unused;
    return 0;
}

/* By the launcher, if there is one and the MPI is up. */
static void __attribute__((noreturn)) leave(struct tutti_shmem *space)
{
    const struct tutti_shmem_host *host = tutti_shmem_server(space);
    if (host && host->leave)
        host->leave(code);
    _exit(code);
}

/* ---- other PEs ---- */

static struct tutti_shmem_control *exit_control(const struct tutti_shmem *space)
{
    return space->state.pes > 0 ? space->control[space->state.me] : NULL;
}

static void tell_others(struct tutti_shmem *space)
{
    if (!exit_control(space))
        return;
    tutti_shmem_exit_from_peer(space, code);
    tutti_shmem_far_exit(space, code);
}

/* 1 if no PE of this node that has read the notice is still in exit(), and all have had the time to read it. */
struct farewell {
    const struct tutti_shmem *space;
    uint64_t start;
};

static int exit_have_ended(void *with)
{
    const struct farewell *farewell = with;
    const struct tutti_shmem *space = farewell->space;
    const uint64_t waited_ms = (tutti_now_ns() - farewell->start) / 1000000;
    int all = waited_ms >= PIPES_MS;
    for (int pe = 0; pe < space->state.pes; pe++) {
        const struct tutti_shmem_control *control = space->control[pe];
        const uint32_t ended = control ? __atomic_load_n(&control->ended, __ATOMIC_ACQUIRE) : 0;
        all &= ended == DONE || waited_ms >= (uint64_t)(ended == READ ? OTHERS_MS : NOTICE_MS);
    }
    return all;
}

/* Meanwhile messages notify far PEs. */
static void wait_for_others(const struct tutti_shmem *space)
{
    struct farewell farewell = {space, tutti_now_ns()};
    tutti_progress_wait(
        &(const struct tutti_wait){.done = exit_have_ended, .with = &farewell, .seconds = 1 + OTHERS_MS / 1000});
}

/* ---- this one ---- */

/* Skips the handlers that the program has registered. */
static void __attribute__((noreturn)) finish(struct tutti_shmem *space)
{
    fflush(NULL);
    if (exit_control(space))
        __atomic_store_n(&exit_control(space)->ended, DONE, __ATOMIC_RELEASE);
    if (atomic_load(&role) == LEADS)
        wait_for_others(space);
    else if (tutti_shmem_server(space)) /* the launcher usually ends it before, with the same status */
        tutti_progress_wait(&(const struct tutti_wait){.done = exit_never, .seconds = FOLLOWERS_S});
    leave(space);
}

static void *exit_leave(void *space)
{
    leave(space);
}

/* Ends the process if exit() does not; if the MPI's abort does not end it either, directly. */
static void *exit_watch(void *space)
{
    pthread_t thread;
    tutti_nap((atomic_load(&role) == LEADS ? HANDLERS_S : HANDLERS_S + FOLLOWERS_S) * 1000000u);
    if (pthread_create(&thread, NULL, exit_leave, space) == 0)
        tutti_nap(1000000);
    _exit(code);
}

static int begin_watch(struct tutti_shmem *space)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); /* the program's handlers do not run on it */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int made = pthread_create(&thread, NULL, exit_watch, space) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made)
        pthread_detach(thread);
    return made;
}

static void __attribute__((noreturn)) end(struct tutti_shmem *space, int mine, int status)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (is_ending())
        leave(space);
    pthread_mutex_lock(&lock); /* another thread of this process that calls this waits for its end */
    ender = pthread_self();
    code = status;
    atomic_store(&role, mine);
    if (exit_control(space))
        __atomic_store_n(&exit_control(space)->ended, READ, __ATOMIC_RELEASE);
    const int watched = begin_watch(space);
    if (mine == LEADS)
        tell_others(space);
    if (!watched)
        leave(space);
    exit(status);
}

static void exit_end_all(struct tutti_shmem *space, int status)
{
    end(space, LEADS, status);
}

static void end_with_others(struct tutti_shmem *space)
{
    const struct tutti_shmem_control *const control = exit_control(space);
    const uint32_t told = control ? __atomic_load_n(&control->ending, __ATOMIC_ACQUIRE) : 0;
    if (told && !is_ending())
        end(space, FOLLOWS, (int)(told & 0xff));
}

void tshmem_global_exit(int status)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    end(space, LEADS, status);
}

/* ---- programs that do not end it themselves ---- */

void tutti_shmem_init_or_end(void)
{
    if (tshmem_init() == TUTTI_OK)
        return;
    struct tutti_shmem *const space = tutti_shmem_here();
    tutti_shmem_answer(space, TUTTI_ERR_UNAVAILABLE, "tshmem_init",
                       "the program ends: without an address space it has no PEs");
    end(space, LEADS, EXIT_FAILURE);
}

void tutti_shmem_start_pes(void)
{
    static int begun;
    struct tutti_shmem *const space = tutti_shmem_here();
    if (begun || space->state.pes > 0)
        return;
    begun = 1;
    tutti_shmem_init_or_end();
    implicit = 1;
}

/* Registered when the library is loaded: handlers of the program, and of its C++ objects, run before. */
static void shmem_at_exit(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (is_ending())
        finish(space);
    if (!implicit || space->state.pes == 0)
        return;
    space->users = 1;
    tshmem_finalize();
}

static void __attribute__((constructor)) loaded(void)
{
    static const struct tutti_shmem_ends ends = {exit_end_all, end_with_others, is_ending};
    struct tutti_shmem *const space = tutti_shmem_here();
    space->ends = &ends;
    atexit(shmem_at_exit);
}
