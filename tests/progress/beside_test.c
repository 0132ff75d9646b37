/* Functions on threads of their own: each is called once with its argument, all at the same time, on a thread that no
 * signal of the program reaches; the caller continues meanwhile. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

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
    return check_failed() != 0;
}
