#include "progress/grace.h"

#include "core/clock.h"
#include "progress/pause.h"

enum {
    GRACE_NS = 1500,
    VAIN = 2 /* calls in a row without such a wait, behind which the thread leaves none */
};

uint64_t tutti_grace_begin(struct tutti_grace *grace, uint64_t now)
{
    grace->begun = now;
    atomic_store_explicit(&grace->wanted, 0, memory_order_relaxed);
    return grace->vain < VAIN ? GRACE_NS : 0;
}

void tutti_grace_end(struct tutti_grace *grace, int taken)
{
    const uint64_t wanted = atomic_load_explicit(&grace->wanted, memory_order_relaxed);
    const int at_once = taken || (wanted && (wanted <= grace->begun || wanted - grace->begun < GRACE_NS));
    grace->vain = at_once ? 0 : grace->vain + (grace->vain < VAIN);
}

void tutti_grace_want(struct tutti_grace *grace, uint64_t now)
{
    if (atomic_load_explicit(&grace->wanted, memory_order_relaxed) == 0)
        atomic_store_explicit(&grace->wanted, now, memory_order_relaxed);
}

int tutti_grace_leave(struct tutti_grace *grace, int (*taken)(void))
{
    const uint64_t now = tutti_now_ns(), until = now + tutti_grace_begin(grace, now);
    int is_taken;
    while (!(is_taken = taken()) && tutti_now_ns() < until)
        tutti_pause();
    return is_taken;
}
