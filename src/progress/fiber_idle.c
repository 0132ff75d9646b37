#include "progress/fiber_idle.h"

#include <sched.h>
#include <time.h>

#include "core/clock.h"
#include "core/settings.h"
#include "progress/fiber.h"
#include "progress/pause.h"

enum {
    LINGER_NS = 20000,        /* after the last fiber, before the thread sleeps: calls come in bursts */
    LINGER_MOST_NS = 200000,  /* the same where fibers start at least twice as often, on average */
    SHARED_NS = 20000,        /* a yield this long: another thread has the core */
    YIELD_AFTER_NS = 50000,   /* without anything that moved: others may need the core */
    SLEEP_AFTER_NS = 5000000, /* then naps are short against the wait, and others may need the core very much */
    NAP_LEAST_US = 50,
    NAP_MOST_US = 1000,
    LEAVE_US = 50
};

/* 1: another thread computes on this core. A yield leaves it the core for its whole time slice, a nap does not. */
static int yield_is_long(void)
{
    const uint64_t before = tutti_now_ns();
    sched_yield();
    return tutti_now_ns() - before > SHARED_NS;
}

static void idle_nap(struct tutti_fiber_idle *idle)
{
    const unsigned next = 2 * idle->nap_us;
    idle->nap_us = next < NAP_LEAST_US ? NAP_LEAST_US : next < NAP_MOST_US ? next : NAP_MOST_US;
    nanosleep(&(const struct timespec){0, (long)idle->nap_us * 1000}, NULL);
}

int tutti_fiber_idle_spin(struct tutti_fiber_idle *idle)
{
    const int how = tutti_settings()->wait;
    const uint64_t now = tutti_now_ns();
    idle->since = idle->since ? idle->since : now;
    idle->still = now - idle->since;
    const int spins = how == TUTTI_SET_WAIT_SPIN ||
                      (how == TUTTI_SET_WAIT_AUTO && idle->still < YIELD_AFTER_NS && !tutti_pause_crowded());
    if (spins)
        tutti_pause();
    return spins;
}

void tutti_fiber_idle_rest(struct tutti_fiber_idle *idle)
{
    const int how = tutti_settings()->wait;
    if ((how == TUTTI_SET_WAIT_SLEEP && idle->still > YIELD_AFTER_NS) || idle->still > SLEEP_AFTER_NS || idle->shared)
        idle_nap(idle);
    else
        idle->shared = yield_is_long() && how == TUTTI_SET_WAIT_AUTO;
}

/* How long the thread had nothing to do before new fibers came: an average of the last times, each at most twice
 * LINGER_MOST_NS. */
static uint64_t gap_ns = LINGER_NS;

void tutti_fiber_idle_ended(uint64_t since, uint64_t then)
{
    const uint64_t most = 2 * (uint64_t)LINGER_MOST_NS, gap = then - since < most ? then - since : most;
    gap_ns = (3 * gap_ns + gap) / 4;
}

/* Not where the program asked for sleep. A thread that sleeps is late by the time that the machine takes to wake it (8
 * to 500 us), and the next call pays the system call. So where calls follow each other closely, the thread looks far
 * longer than usual. But if a yield gives the core to another thread, such as one of the program that waits, it sleeps:
 * the system finds a free core when it wakes it. */
void tutti_fiber_idle_linger(uint64_t since, const atomic_int *open)
{
    if (tutti_settings()->wait == TUTTI_SET_WAIT_SLEEP)
        return;
    const uint64_t until = since + (2 * gap_ns <= LINGER_MOST_NS ? LINGER_MOST_NS : LINGER_NS);
    uint64_t now = tutti_now_ns(), before = now;
    while (!atomic_load_explicit(open, memory_order_relaxed) && now < until && now - before < SHARED_NS) {
        before = now;
        sched_yield();
        now = tutti_now_ns();
    }
}

/* ---- seen by other threads ---- */

static struct {
    _Alignas(64) atomic_uint n;
} rounds;

void tutti_fiber_idle_round(void)
{
    atomic_store_explicit(&rounds.n, atomic_load_explicit(&rounds.n, memory_order_relaxed) + 1, memory_order_relaxed);
}

unsigned tutti_fiber_idle_rounds(void)
{
    return atomic_load_explicit(&rounds.n, memory_order_relaxed);
}

void tutti_fiber_leave_core(struct tutti_fiber_seen *seen)
{
    const unsigned now = tutti_fiber_idle_rounds();
    if (seen->once && now == seen->rounds && tutti_settings()->wait == TUTTI_SET_WAIT_AUTO)
        tutti_sleep_us(LEAVE_US);
    *seen = (struct tutti_fiber_seen){.rounds = now, .once = 1};
}
