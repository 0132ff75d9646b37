/* What the engine's thread (fiber.h) does while no fiber moves, and while no fiber is open. Of that thread alone. */
#ifndef TUTTI_PROGRESS_FIBER_IDLE_H
#define TUTTI_PROGRESS_FIBER_IDLE_H

#include <stdatomic.h>
#include <stdint.h>

/* Since when no fiber has moved. All zero when one has. */
struct tutti_fiber_idle {
    uint64_t since;
    unsigned nap_us; /* the last nap */
    int shared;      /* 1: another thread computes on this core */
};
/* A pause between two rounds over all fibers. */
void tutti_fiber_idle_pause(struct tutti_fiber_idle *idle);

/* No fiber is open since then: looks at *some for a while, which is not 0 once new fibers are there. */
void tutti_fiber_idle_linger(uint64_t since, const atomic_int *some);
/* New fibers came then. The thread may have begun later: to wake it takes time. */
void tutti_fiber_idle_ended(uint64_t since, uint64_t then);
/* A round over all fibers. */
void tutti_fiber_idle_round(void);

#endif
