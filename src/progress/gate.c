#include "progress/gate.h"

#include <stdatomic.h>
#include <time.h>

#include "progress/engine.h"
#include "progress/fiber.h"

/* Kernels that wait; -1: a call that they may block is made. A fiber may continue on another thread, so the gate does
 * not belong to one. */
static atomic_int gate;

/* Fibers share a thread, so each has its own. */
static int *gate_apart(void)
{
    static __thread int apart;
    struct tutti_fiber *const fiber = tutti_fiber_here();
    return fiber ? &fiber->apart : &apart;
}

static int gate_is_passed(void *unused)
{
    int kernels = atomic_load_explicit(&gate, memory_order_relaxed);
    (void)unused;
    return kernels >= 0 && atomic_compare_exchange_strong_explicit(&gate, &kernels, kernels + 1, memory_order_acquire,
                                                                   memory_order_relaxed);
}

static int gate_is_shut(void *unused)
{
    int none = 0;
    (void)unused;
    return atomic_compare_exchange_strong_explicit(&gate, &none, -1, memory_order_acquire, memory_order_relaxed);
}

/* Fibers that have the gate must be able to continue. */
static void gate_take(int (*is_taken)(void *))
{
    if (!is_taken(NULL))
        tutti_progress_wait(&(const struct tutti_wait){.done = is_taken, .quiet = 1});
}

static void gate_leave(void)
{
    atomic_fetch_sub_explicit(&gate, 1, memory_order_release);
}

static void gate_reopen(void)
{
    atomic_store_explicit(&gate, 0, memory_order_release);
}

void tutti_gate_waiting_begin(void)
{
    gate_take(gate_is_passed);
}

void tutti_gate_waiting_end(void)
{
    gate_leave();
}

/* ---- steps of the host ---- */

static atomic_int steps, captured;

static int is_urgent(void)
{
    return tutti_progress_polling() || tutti_fiber_here();
}

/* Not while a call is made that the kernel of the step would block. A graph's steps are known when they have begun. */
void tutti_gate_step(int more)
{
    const int keep = more > 0 && !is_urgent();
    if (keep)
        tutti_gate_waiting_begin();
    atomic_fetch_add(&steps, more);
    if (keep)
        tutti_gate_waiting_end();
}

void tutti_gate_captured(int more)
{
    atomic_fetch_add(&captured, more);
}

int tutti_gate_closed(void)
{
    return atomic_load_explicit(&steps, memory_order_relaxed) > 0 ||
           atomic_load_explicit(&captured, memory_order_relaxed) > 0;
}

void tutti_gate_shut(void)
{
    tutti_fiber_home_begin();
    if (!*gate_apart())
        gate_take(gate_is_shut);
}

/* A thread of the library brings the steps to their ends. */
void tutti_gate_shut_steps(void)
{
    const struct timespec pause = {.tv_nsec = 20000};
    for (int waits = !is_urgent() && !*gate_apart();;) {
        while (waits && atomic_load(&steps) > 0)
            nanosleep(&pause, NULL);
        tutti_gate_shut();
        if (!waits || atomic_load(&steps) == 0)
            return;
        tutti_gate_open();
    }
}

void tutti_gate_open(void)
{
    if (!*gate_apart())
        gate_reopen();
    tutti_fiber_home_end();
}

int tutti_gate_apart_begin(void)
{
    tutti_fiber_home_begin();
    const int begun = !tutti_gate_closed() && gate_is_shut(NULL);
    *gate_apart() = begun;
    if (!begun)
        tutti_fiber_home_end();
    return begun;
}

void tutti_gate_apart_end(void)
{
    *gate_apart() = 0;
    gate_reopen();
    tutti_fiber_home_end();
}
