/* How a wait gives the core away between two looks, by TUTTI_WAIT. The engine's waits pause here; so do kernels of the
 * host device, which wait in place of a GPU. */
#ifndef TUTTI_PROGRESS_PAUSE_H
#define TUTTI_PROGRESS_PAUSE_H

#include <stdint.h>

enum { TUTTI_YIELD_AFTER_NS = 50000 }; /* a wait that spins yields from then on: other threads may need the core */

/* One pause of a wait that has lasted `waited` nanoseconds. crowded: there are more threads than cores. naps at most
 * `most_us` long, where TUTTI_WAIT is sleep. In a fiber the others go on. */
void tutti_pause_by(uint64_t waited, int crowded, unsigned most_us);
/* How many ranks the node has, and how many cores they share. Where they need more cores, waits of this process always
 * yield: their peers need the core. */
void tutti_pause_among(int ranks, int cores);
/* 1: threads of the node's ranks may need the core of this one. */
int tutti_pause_crowded(void);
/* The thread sleeps so long, also in a fiber. */
void tutti_sleep_us(unsigned us);
/* The same; in a fiber the others go on. */
void tutti_nap(unsigned us);

#endif
