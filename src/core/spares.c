#include "core/spares.h"

#include <time.h>

#include "core/clock.h"

enum { SPINS = 200, NAP_NS = 20000 };

/* Naps, since the core may be needed by the thread that holds the lock. */
void tutti_spares_wait(struct tutti_spares *spares)
{
    for (unsigned n = 0; atomic_exchange_explicit(&spares->held, 1, memory_order_acquire) != 0; n++) {
        for (unsigned spin = 0; spin < SPINS && atomic_load_explicit(&spares->held, memory_order_relaxed) != 0; spin++)
            tutti_pause();
        if (atomic_load_explicit(&spares->held, memory_order_relaxed) != 0)
            nanosleep(&(const struct timespec){0, NAP_NS}, NULL);
    }
}
