/* What the engine's thread (fiber.h) does while no fiber moves, and while no fiber is open. Of that thread alone, but
 * for rounds. */
#ifndef TUTTI_PROGRESS_FIBER_IDLE_H
#define TUTTI_PROGRESS_FIBER_IDLE_H

#include <stdatomic.h>
#include <stdint.h>

/* Since when no fiber has moved. All zero when one has. */
struct tutti_fiber_idle {
    uint64_t since, still;
    unsigned nap_us; /* the last nap */
    int shared;      /* 1: another thread computes on this core */
};
/* A pause between two rounds over all fibers. spin: 0: it is time to give the core and the turns away: rest() gives the
 * core. */
int tutti_fiber_idle_spin(struct tutti_fiber_idle *idle);
void tutti_fiber_idle_rest(struct tutti_fiber_idle *idle);

/* No fiber is open since then: looks at *open for a while, which is not 0 once there are fibers. */
void tutti_fiber_idle_linger(uint64_t since, const atomic_int *open);
/* New fibers came then. The thread may have begun later: to wake it takes time. */
void tutti_fiber_idle_ended(uint64_t since, uint64_t then);
/* A round over all fibers, by any thread; how many there were, modulo 2^32. */
void tutti_fiber_idle_round(void);
unsigned tutti_fiber_idle_rounds(void);

#endif
