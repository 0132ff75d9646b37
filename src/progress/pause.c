#include "progress/pause.h"

#include <sched.h>
#include <stdatomic.h>

#include "core/affinity.h"
#include "core/clock.h"
#include "core/settings.h"
#include "progress/fiber.h"

/* A nap is an eighth of the time that the wait has lasted: a wait becomes longer by an eighth at most, and by the time
 * that the system takes to wake a thread. */
enum { NAP_LEAST_US = 50, NAP_SHARE = 8 };

/* A yield this long has given the core to a thread that computes, and the next one would do so again: the wait keeps
 * the core for the time of so many such yields, as a wait of the MPI does, and the system shares the core. */
enum { LONG_YIELD_NS = 500000, KEPT_YIELDS = 8 };

static atomic_int node_ranks, node_cores = 1;

void tutti_pause_among(int ranks, int cores)
{
    atomic_store_explicit(&node_ranks, ranks, memory_order_relaxed);
    atomic_store_explicit(&node_cores, cores, memory_order_relaxed);
}

/* The engine's threads count while they have work, unless others make their turns. */
int tutti_pause_crowded(void)
{
    const int ranks = atomic_load_explicit(&node_ranks, memory_order_relaxed),
              shared = tutti_fibers_any() && !tutti_fibers_unattended() && tutti_thread_cpus_apart() < ranks,
              threads = shared ? 2 : 1; /* of each rank */
    return threads * ranks > atomic_load_explicit(&node_cores, memory_order_relaxed);
}

static void yield_unless_it_costs(void)
{
    static __thread uint64_t kept_until;
    const uint64_t before = tutti_now_ns();
    if (before < kept_until) {
        tutti_pause();
        return;
    }
    sched_yield();
    const uint64_t took = tutti_now_ns() - before;
    kept_until = took > LONG_YIELD_NS ? before + (1 + KEPT_YIELDS) * took : 0;
}

void tutti_pause_by(uint64_t waited, int crowded, unsigned most_us)
{
    const int how = tutti_settings()->wait, long_enough = waited > TUTTI_YIELD_AFTER_NS;
    if (tutti_fiber_here()) { /* its thread pauses when none of its fibers has anything to do */
        tutti_fiber_yield();
    } else if (how == TUTTI_SET_WAIT_SLEEP && long_enough) {
        const uint64_t share_us = waited / 1000 / NAP_SHARE;
        tutti_sleep_us(share_us < NAP_LEAST_US ? NAP_LEAST_US : share_us > most_us ? most_us : (unsigned)share_us);
    } else if (how == TUTTI_SET_WAIT_SPIN || (how == TUTTI_SET_WAIT_AUTO && !crowded && !long_enough)) {
        tutti_pause();
    } else if (how == TUTTI_SET_WAIT_AUTO && !tutti_pause_crowded()) {
        yield_unless_it_costs();
    } else {
        sched_yield();
    }
}

void tutti_nap(unsigned us)
{
    if (!tutti_fiber_here()) {
        tutti_sleep_us(us);
        return;
    }
    const uint64_t until = tutti_now_ns() + us * UINT64_C(1000);
    while (tutti_now_ns() < until)
        tutti_fiber_yield();
}
