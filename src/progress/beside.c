#include "progress/beside.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "core/affinity.h"
#include "core/status.h"

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
