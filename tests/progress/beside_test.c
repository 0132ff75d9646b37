/* Functions on threads of their own: each is called once with its argument, all at the same time, on a thread that no
 * signal of the program reaches; the caller continues meanwhile. What is done once in a process is begun by one thread,
 * and a child that is forked meanwhile has not begun it, waits for nothing, and can do it itself. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/status.h"
#include "progress/beside.h"
#include "support/check.h"

enum { JOBS = 20 };
static sem_t begun, go_on, ended;
static atomic_int calls[JOBS], reached, here;
static pthread_t caller;

static void wait_for(sem_t *what)
{
    while (sem_wait(what) != 0)
        ;
}

static void job(void *with)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    atomic_fetch_add(&reached, !sigismember(&blocked, SIGUSR1) || !sigismember(&blocked, SIGALRM));
    atomic_fetch_add(&here, pthread_equal(pthread_self(), caller) != 0);
    atomic_fetch_add((atomic_int *)with, 1);
    sem_post(&begun);
    wait_for(&go_on);
    sem_post(&ended);
}

/* ---- once in a process ---- */

static struct tutti_beside_once once, failing;
static atomic_int runs, none;

static int work(void *with)
{
    atomic_fetch_add(&runs, 1);
    wait_for(&go_on);
    return with ? TUTTI_OK : TUTTI_ERR_DEVICE;
}

static void *begins(void *nothing)
{
    atomic_fetch_add(&none, tutti_beside_begin(&once, work, &once) == TUTTI_BESIDE_NONE);
    return nothing;
}

static void *lets_go_on(void *nothing)
{
    usleep(20000);
    sem_post(&go_on);
    return nothing;
}

/* The parent's thread is at work. Bits of what is wrong. */
static int child(void)
{
    alarm(20);
    int wrong = tutti_beside_state(&once) != TUTTI_BESIDE_NONE;
    tutti_beside_await(&once);
    atomic_store(&runs, 0);
    wrong |= (tutti_beside_begin(&once, work, &once) != TUTTI_BESIDE_RUNS) << 1;
    sem_post(&go_on);
    tutti_beside_await(&once);
    return wrong | (tutti_beside_state(&once) != TUTTI_BESIDE_DONE || atomic_load(&runs) != 1) << 2;
}

static void once_in_a_process(void)
{
    pthread_t thread[JOBS];
    CHECK(tutti_beside_state(&once) == TUTTI_BESIDE_NONE, "it is begun by itself");
    tutti_beside_await(&once);
    for (int i = 0; i < JOBS; i++)
        CHECK(pthread_create(&thread[i], NULL, begins, NULL) == 0, "a thread");
    for (int i = 0; i < JOBS; i++)
        pthread_join(thread[i], NULL);
    CHECK(tutti_beside_state(&once) == TUTTI_BESIDE_RUNS && atomic_load(&none) == 0, "state %d",
          tutti_beside_state(&once));
    check_in_child(child);
    CHECK(tutti_beside_state(&once) == TUTTI_BESIDE_RUNS, "the child's end ends the parent's work");
    CHECK(pthread_create(&thread[0], NULL, lets_go_on, NULL) == 0, "a thread");
    tutti_beside_await(&once);
    pthread_join(thread[0], NULL);
    CHECK(tutti_beside_begin(&once, work, &once) == TUTTI_BESIDE_DONE && atomic_load(&runs) == 1, "%d runs, state %d",
          atomic_load(&runs), tutti_beside_state(&once));
    sem_post(&go_on);
    (void)tutti_beside_begin(&failing, work, NULL);
    tutti_beside_await(&failing);
    CHECK(tutti_beside_begin(&failing, work, NULL) == TUTTI_BESIDE_FAILED && atomic_load(&runs) == 2,
          "%d runs, state %d", atomic_load(&runs), tutti_beside_state(&failing));
}

int main(void)
{
    sigset_t blocked;
    caller = pthread_self();
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    sem_init(&ended, 0, 0);
    for (int i = 0; i < JOBS; i++)
        CHECK(tutti_beside_start(job, &calls[i]) == TUTTI_OK, "job %d is begun", i);
    for (int i = 0; i < JOBS; i++)
        wait_for(&begun); /* all of them wait at the same time */
    for (int i = 0; i < JOBS; i++)
        sem_post(&go_on);
    for (int i = 0; i < JOBS; i++)
        wait_for(&ended);
    for (int i = 0; i < JOBS; i++)
        CHECK(atomic_load(&calls[i]) == 1, "job %d was called %d times", i, atomic_load(&calls[i]));
    CHECK(atomic_load(&here) == 0, "%d jobs ran on the caller's thread", atomic_load(&here));
    CHECK(atomic_load(&reached) == 0, "signals reach %d threads", atomic_load(&reached));
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    CHECK(!sigismember(&blocked, SIGUSR1), "the caller's signals are blocked");
    once_in_a_process();
    return check_failed() != 0;
}
