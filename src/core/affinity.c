#include "core/affinity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/log.h"
#include "core/settings.h"

enum {
    CORE_CPUS = 2,     /* of one core */
    SLICE_NS = 100000, /* the shortest time slice that Linux gives */
    SLACK_NS = 1000    /* of timers; 50000 by itself */
};

static cpu_set_t ranks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `ranks`: those of a test are threads of one process */

void tutti_thread_ranks(const cpu_set_t *cpus)
{
    pthread_mutex_lock(&lock);
    ranks = *cpus;
    pthread_mutex_unlock(&lock);
}

static atomic_int cpus_apart;

int tutti_thread_cpus_apart(void)
{
    return atomic_load_explicit(&cpus_apart, memory_order_relaxed);
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
    const int apart = move_to(&others);
    if ((apart || move_to(&all)) && sched_getaffinity(0, sizeof all, &all) == 0) {
        atomic_store(&cpus_apart, apart ? CPU_COUNT(&all) : 0);
        tutti_debug("a thread that was bound to %d CPUs may run on %d", CPU_COUNT(&may), CPU_COUNT(&all));
    }
}

/* A thread that wakes gets its core from one that computes if its time slice is shorter. Otherwise it waits until the
 * other's slice of 3 ms has ended, and for the system's next tick. Systems that know no slices ignore it. */
void tutti_thread_prompt(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } how = {.size = sizeof how};
    prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
    if (syscall(SYS_sched_getattr, 0, &how, sizeof how, 0) != 0 || how.policy != SCHED_OTHER)
        return;
    how.size = sizeof how;
    how.runtime = SLICE_NS;
    (void)syscall(SYS_sched_setattr, 0, &how, 0);
}
