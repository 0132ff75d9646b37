/* The engine's thread (fiber.h) sees a nonblocking call that has just started, and leaves it to a wait that follows at
 * once: such a wait makes the call on a core that has the call's data in its caches. But not where the last calls had
 * no such wait: a program that computes between start and wait would lose that time of each call. Private to
 * src/progress/. */
#ifndef TUTTI_PROGRESS_GRACE_H
#define TUTTI_PROGRESS_GRACE_H

#include <stdatomic.h>
#include <stdint.h>

/* All zero at first. */
struct tutti_grace {
    uint64_t begun;          /* when the thread saw the call, ns */
    _Atomic uint64_t wanted; /* when a wait found the thread at work on it; 0: none has */
    unsigned vain;           /* calls in a row without a wait that followed at once */
};
extern struct tutti_grace tutti_fibers_grace; /* of the engine's thread */

/* The thread sees a call that starts, at this time: returns for how many ns it leaves the call to a wait. end: its part
 * of the call is over. taken: 1: a wait has taken the call in that time. want: a wait finds the thread at work; any
 * thread. */
uint64_t tutti_grace_begin(struct tutti_grace *grace, uint64_t now);
void tutti_grace_end(struct tutti_grace *grace, int taken);
void tutti_grace_want(struct tutti_grace *grace, uint64_t now);

/* begin() with the clock, until the time is over or a wait has taken the call, which taken() returns: 1 if so. */
int tutti_grace_leave(struct tutti_grace *grace, int (*taken)(void));

#endif
