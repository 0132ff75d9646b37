#include "core/affinity.h"

#include <pthread.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"

enum { CORE_CPUS = 2 }; /* of one core */

static cpu_set_t ranks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `ranks`: those of a test are threads of one process */

void tutti_thread_ranks(const cpu_set_t *cpus)
{
    pthread_mutex_lock(&lock);
    ranks = *cpus;
    pthread_mutex_unlock(&lock);
}

/* The system takes of them what the process's cpuset has; there may be none. */
static int move_to(const cpu_set_t *cpus)
{
    return CPU_COUNT(cpus) > 0 && sched_setaffinity(0, sizeof *cpus, cpus) == 0;
}

void tutti_thread_roam(void)
{
    cpu_set_t may, all, others;
    if (tutti_settings()->thread_affinity == TUTTI_SET_THREAD_AFFINITY_BOUND ||
        sched_getaffinity(0, sizeof may, &may) != 0 || CPU_COUNT(&may) > CORE_CPUS)
        return;
    memset(&all, 0xff, sizeof all);
    pthread_mutex_lock(&lock);
    CPU_XOR(&others, &all, &ranks);
    pthread_mutex_unlock(&lock);
    if ((move_to(&others) || move_to(&all)) && sched_getaffinity(0, sizeof all, &all) == 0)
        tutti_debug("a thread that was bound to %d CPUs may run on %d", CPU_COUNT(&may), CPU_COUNT(&all));
}
