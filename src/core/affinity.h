/* Where Tutti's own threads run. Launchers bind a rank to one core (Open MPI does by itself with one or two ranks), and
 * threads that it makes inherit that: then a thread that serves kernels shares the core with the program's, which waits
 * for the same kernels, and each request takes the milliseconds until the system turns to the other thread. */
#ifndef TUTTI_CORE_AFFINITY_H
#define TUTTI_CORE_AFFINITY_H

#include <sched.h>

/* Local, before there are such threads: CPUs that ranks of this node are bound to, by all of them together. */
void tutti_thread_ranks(const cpu_set_t *cpus);
/* Local; first in a thread of Tutti's. Where it may run on one core alone (two CPUs at most), it may from here on run
 * on those that no rank is bound to, or on all if every CPU has a rank, as far as the system lets the process have
 * them; unless TUTTI_THREAD_AFFINITY says otherwise. */
void tutti_thread_roam(void);

/* Safe from any thread. On how many CPUs that no rank of the node has the library's threads run; 0: no such thread
 * runs, or they share the CPUs of the ranks. */
int tutti_thread_cpus_apart(void);

/* Local; first in a thread of Tutti's for which others wait: when it wakes, it gets a core at once, also where threads
 * compute on all cores, if the system lets it (Linux 6.12 and later). */
void tutti_thread_prompt(void);

#endif
