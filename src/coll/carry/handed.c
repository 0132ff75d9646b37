#include "coll/carry/handed.h"

#include <stddef.h>

#include "core/status.h"
#include "progress/engine.h"

/* ---- on the fiber ---- */

static int handed_at(struct tutti_carry_handed *handed)
{
    return atomic_load_explicit(&handed->at, memory_order_acquire);
}

void tutti_carry_handed_give(struct tutti_carry_desk *desk, int slot, struct tutti_carry_handed *handed)
{
    atomic_store_explicit(&handed->at, TUTTI_CARRY_GIVEN, memory_order_relaxed);
    atomic_store_explicit(&desk->slot[slot], handed, memory_order_release);
}

static int handed_back(void *with)
{
    return handed_at(with) != TUTTI_CARRY_GIVEN;
}

/* The polling thread has the time limit: the program may compute for long before it polls. */
int tutti_carry_handed_wait(struct tutti_carry_handed *handed)
{
    const int status =
        tutti_progress_wait(&(const struct tutti_wait){.done = handed_back, .with = handed, .watched = 1});
    return status == TUTTI_OK ? handed->status : status;
}

void tutti_carry_handed_stop(struct tutti_carry_desk *desk, int slot, struct tutti_carry_handed *handed, int status)
{
    const struct tutti_wait back = {.done = handed_back, .with = handed};
    atomic_store_explicit(&handed->stop, status, memory_order_release);
    (void)tutti_progress_wait(&back);
    if (handed_at(handed) == TUTTI_CARRY_CANCELLED)
        return;
    tutti_carry_handed_give(desk, slot, handed); /* it has ended before: to be cancelled all the same */
    (void)tutti_progress_wait(&back);
}

/* ---- on a polling thread ---- */

static void handed_end(_Atomic(struct tutti_carry_handed *) *slot, struct tutti_carry_handed *handed, int at)
{
    atomic_store_explicit(slot, NULL, memory_order_relaxed);
    atomic_store_explicit(&handed->at, at, memory_order_release); /* from now on it may be gone */
}

static void handed_poll(_Atomic(struct tutti_carry_handed *) *slot, struct tutti_carry_handed *handed, int status)
{
    const int stop = atomic_load_explicit(&handed->stop, memory_order_acquire);
    if (stop != TUTTI_OK) {
        handed->cancel(handed->with, stop);
        handed_end(slot, handed, TUTTI_CARRY_CANCELLED);
        return;
    }
    const int done = status != TUTTI_OK ? status : handed->advance(handed->with);
    if (done == 0)
        return;
    handed->status = done < 0 ? done : TUTTI_OK;
    handed_end(slot, handed, TUTTI_CARRY_ENDED);
}

int tutti_carry_desk_poll(struct tutti_carry_desk *desk, int status)
{
    int left = 0;
    for (int i = 0; i < TUTTI_CARRY_HANDED; i++) {
        struct tutti_carry_handed *handed = atomic_load_explicit(&desk->slot[i], memory_order_acquire);
        if (handed)
            handed_poll(&desk->slot[i], handed, status);
        left += atomic_load_explicit(&desk->slot[i], memory_order_relaxed) != NULL;
    }
    return left;
}

const void *tutti_carry_desk_first(struct tutti_carry_desk *desk)
{
    for (int i = 0; i < TUTTI_CARRY_HANDED; i++) {
        const struct tutti_carry_handed *handed = atomic_load_explicit(&desk->slot[i], memory_order_acquire);
        if (handed)
            return handed->with;
    }
    return NULL;
}
