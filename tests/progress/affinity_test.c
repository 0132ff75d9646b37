/* Where a thread of Tutti's may run: the process is bound to one CPU, as launchers bind ranks. */
#include "core/affinity.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static void *roam(void *seen)
{
    tutti_thread_roam();
    CHECK(sched_getaffinity(0, sizeof(cpu_set_t), seen) == 0, "its own CPUs");
    return NULL;
}

static cpu_set_t of_thread(void)
{
    pthread_t thread;
    cpu_set_t seen;
    CPU_ZERO(&seen);
    CHECK(pthread_create(&thread, NULL, roam, &seen) == 0, "a thread");
    pthread_join(thread, NULL);
    return seen;
}

/* The first one of a set; -1: there is none. */
static int first_of(const cpu_set_t *set)
{
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, set))
            return i;
    }
    return -1;
}

int main(void)
{
    const char *const setting = getenv("TUTTI_THREAD_AFFINITY");
    const int stays = setting && strcmp(setting, "bound") == 0;
    cpu_set_t all, one, seen, others;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) > 0, "CPUs");
    if (CPU_COUNT(&all) < 2) {
        printf("skipped: one CPU alone\n");
        return 77;
    }
    CPU_ZERO(&one);
    CPU_SET(first_of(&all), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "to bind the process");

    tutti_thread_ranks(&one); /* no other rank is bound to anything */
    seen = of_thread();
    CPU_XOR(&others, &all, &one);
    if (stays) {
        CHECK(CPU_EQUAL(&seen, &one), "a thread that is to stay has %d CPUs", CPU_COUNT(&seen));
    } else {
        CHECK(!CPU_ISSET(first_of(&one), &seen), "a thread may run on the CPU of the program's");
        CPU_AND(&seen, &seen, &others);
        CHECK(CPU_EQUAL(&seen, &others), "a thread may run on %d of %d other CPUs", CPU_COUNT(&seen),
              CPU_COUNT(&others));
    }
    memset(&others, 0xff, sizeof others);
    tutti_thread_ranks(&others); /* ranks have all of them */
    seen = of_thread();
    CHECK(stays ? CPU_EQUAL(&seen, &one) : CPU_COUNT(&seen) >= CPU_COUNT(&all), "where all are taken it has %d CPUs",
          CPU_COUNT(&seen));
    CHECK(sched_getaffinity(0, sizeof seen, &seen) == 0 && CPU_EQUAL(&seen, &one), "the program's thread stays bound");
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
