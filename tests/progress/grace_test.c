/* Whether a call that starts is left to a wait: while waits follow calls at once, not behind two calls in a row without
 * such a wait, and again behind a call that a wait would have taken. */
#include "progress/grace.h"

#include "core/status.h"
#include "progress/engine.h"
#include "progress/fiber.h"
#include "support/check.h"

#include <stdio.h>

static uint64_t now = 1000;

enum wait { NONE, TAKEN, AT_ONCE, BEFORE, LATE };

/* One call and the wait for it; returns for how long it was left to a wait. */
static uint64_t call(struct tutti_grace *grace, enum wait wait)
{
    now += 50000;
    const uint64_t left = tutti_grace_begin(grace, now);
    if (wait == AT_ONCE || wait == LATE)
        tutti_grace_want(grace, now + (wait == LATE ? 3000 : 300));
    if (wait == BEFORE) /* it came before the thread saw the call */
        tutti_grace_want(grace, now - 100);
    if (wait == AT_ONCE || wait == BEFORE)
        tutti_grace_want(grace, now + 20000); /* it looks again and again */
    tutti_grace_end(grace, wait == TAKEN);
    return left;
}

static void calls(struct tutti_grace *grace, enum wait wait, int n, int with)
{
    for (int i = 0; i < n; i++) {
        const uint64_t left = call(grace, wait);
        CHECK((left > 0) == with, "call %d of %d with wait %d: left for %llu ns", i, n, (int)wait,
              (unsigned long long)left);
    }
}

static void rule(void)
{
    static const enum wait at_once[] = {TAKEN, AT_ONCE, BEFORE}, later[] = {NONE, LATE};
    for (unsigned a = 0; a < sizeof at_once / sizeof *at_once; a++) {
        for (unsigned l = 0; l < sizeof later / sizeof *later; l++) {
            struct tutti_grace grace = {0};
            calls(&grace, TAKEN, 5, 1);
            for (int round = 0; round < 3; round++) {
                calls(&grace, later[l], 2, 1);
                calls(&grace, later[l], 10, 0);
                calls(&grace, at_once[a], 1, 0);
                calls(&grace, TAKEN, 10, 1);
            }
            for (int i = 0; i < 10; i++) { /* one of two in vain */
                calls(&grace, later[l], 1, 1);
                calls(&grace, at_once[a], 1, 1);
            }
        }
    }
}

/* A wait that finds the engine's thread at work is noted. */
static atomic_int runs, may_end;

static void works(void *unused)
{
    (void)unused;
    atomic_store(&runs, 1);
    while (!atomic_load(&may_end))
        ;
}

static int none_is_open(void *unused)
{
    (void)unused;
    return !tutti_fibers_any();
}

static void noted(void)
{
    int drives = 0;
    CHECK(tutti_fiber_start(works, NULL) == TUTTI_OK, "no fiber");
    while (!atomic_load(&runs))
        ;
    CHECK(atomic_load(&tutti_fibers_grace.wanted) == 0, "a wait is noted that there was not");
    CHECK(!tutti_fibers_drive(&drives, 1) && !drives, "two threads make turns");
    CHECK(atomic_load(&tutti_fibers_grace.wanted) != 0, "the wait is not noted");
    atomic_store(&may_end, 1);
    CHECK(tutti_progress_wait(&(const struct tutti_wait){.done = none_is_open, .seconds = 50}) == TUTTI_OK, "no end");
    tutti_fibers_end();
}

int main(void)
{
    rule();
    noted();
    printf("grace: %ld failed\n", check_failed());
    return check_failed() != 0;
}
