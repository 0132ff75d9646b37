/* A wait that yields the core: always if ranks share the cores; otherwise not again and again to a thread that
 * computes. */
#include "progress/pause.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "progress/engine.h"
#include "progress/fiber.h"
#include "support/check.h"

static unsigned yields;
static uint64_t now_ns, yield_ns; /* time of this test, and what a yield takes: the time slice of another thread */

/* These stand before libc's, so that no count depends on the machine's load. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    now_ns += 100;
    *out = (struct timespec){(time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000)};
    return 0;
}

int sched_yield(void)
{
    now_ns += yield_ns;
    yields++;
    return 0;
}

static uint64_t ends;

static int is_over(void *with)
{
    (void)with;
    return tutti_now_ns() > ends;
}

/* Yields of a wait of so many milliseconds. */
static unsigned yields_of(unsigned ms, uint64_t each_ns)
{
    yields = 0;
    yield_ns = each_ns;
    ends = tutti_now_ns() + ms * UINT64_C(1000000);
    CHECK(tutti_progress_wait(&(const struct tutti_wait){.done = is_over}) == 0, "the wait");
    return yields;
}

int main(void)
{
    enum { MS = 200, YIELD_MS = 2, KEPT = 8 };
    const char *const how = getenv("TUTTI_WAIT");
    const int always = how && strcmp(how, "yield") == 0;
    tutti_pause_among(2, 2);
    unsigned n = yields_of(MS, YIELD_MS * UINT64_C(1000000));
    if (always)
        CHECK(n > MS / YIELD_MS / 2, "%u yields of 2 ms in %d ms", n, MS);
    else
        CHECK(n > 1 && n <= MS / (YIELD_MS * (1 + KEPT)) + 1, "%u yields of 2 ms in %d ms", n, MS);
    now_ns += YIELD_MS * KEPT * UINT64_C(1000000); /* until then the core is kept */
    n = yields_of(MS, 1000);
    CHECK(n > 1000, "%u yields of 1 us in %d ms, though no thread needs the core", n, MS);
    for (int beside = 0; beside < 2; beside++) { /* the engine's threads need cores too */
        atomic_store(&tutti_fibers_open, beside);
        tutti_pause_among(beside ? 2 : 3, 2);
        n = yields_of(MS, YIELD_MS * UINT64_C(1000000));
        CHECK(n > MS / YIELD_MS / 2, "%u yields of 2 ms in %d ms where %s share the cores", n, MS,
              beside ? "threads" : "ranks");
    }
    return check_failed() != 0;
}
