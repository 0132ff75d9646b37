#include "progress/poller.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/affinity.h"
#include "core/clock.h"
#include "core/log.h"
#include "progress/pause.h"

enum { NAP_AFTER_NS = 5000000, NAP_US = 100, LOOKS = 64 };

struct tutti_poller {
    int (*poll)(void *with);
    void *with;
    int crowded;
    atomic_int ending;
    pthread_t thread;
};

/* `still`: since when nothing has been done. */
static void poller_pause_for(uint64_t still, int crowded)
{
    if (still > NAP_AFTER_NS)
        tutti_nap(NAP_US);
    else
        tutti_pause_by(still, crowded, NAP_US);
}

static void *poller_run(void *argument)
{
    struct tutti_poller *const poller = argument;
    uint64_t since = 0;
    unsigned idle = 0;
    tutti_thread_roam();
    while (!atomic_load_explicit(&poller->ending, memory_order_relaxed)) {
        const int done = poller->poll(poller->with);
        if (done < 0)
            break;
        if (done > 0) {
            idle = 0;
            continue;
        }
        if (idle++ < LOOKS) { /* the clock costs more than a look */
            tutti_pause();
            continue;
        }
        const uint64_t now = tutti_now_ns();
        since = idle == LOOKS + 1 ? now : since;
        poller_pause_for(now - since, poller->crowded);
    }
    return NULL;
}

struct tutti_poller *tutti_poller_start(int (*poll)(void *with), void *with, int crowded)
{
    sigset_t all, before;
    struct tutti_poller *poller = calloc(1, sizeof *poller);
    if (!poller)
        return NULL;
    poller->poll = poll;
    poller->with = with;
    poller->crowded = crowded;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int made = pthread_create(&poller->thread, NULL, poller_run, poller) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made)
        return poller;
    tutti_error("a thread that serves kernels could not be made");
    free(poller);
    return NULL;
}

void tutti_poller_end(struct tutti_poller *poller)
{
    if (!poller)
        return;
    atomic_store(&poller->ending, 1);
    pthread_join(poller->thread, NULL);
    free(poller);
}
