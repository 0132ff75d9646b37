#include "device/host/asked.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"

static atomic_int asked, waiting; /* kernels; calls that wait for them */

/* Not the engine's wait: the driver's threads wait here. */
static void asked_pause(void)
{
    const struct timespec pause = {.tv_nsec = 50000};
    nanosleep(&pause, NULL);
}

void tutti_host_asked(int more)
{
    atomic_fetch_add(&asked, more);
}

void tutti_host_asked_await(const char *what)
{
    if (atomic_load(&asked) == 0)
        return;
    const uint64_t begin = tutti_now_ns(), limit = (uint64_t)tutti_settings()->stall_seconds * UINT64_C(1000000000);
    atomic_fetch_add(&waiting, 1);
    for (int reported = limit == 0; atomic_load(&asked) > 0;) {
        asked_pause();
        if (!reported && tutti_now_ns() - begin > limit) {
            tutti_error("host device: %s waits for a kernel that waits for a step of the host", what);
            reported = 1;
        }
    }
    atomic_fetch_sub(&waiting, 1);
}

void tutti_host_asked_pass(void)
{
    while (atomic_load_explicit(&waiting, memory_order_relaxed) > 0)
        asked_pause();
}

void tutti_host_take_turn(void)
{
    if (tutti_settings()->host_turns_us > 0)
        usleep((useconds_t)tutti_settings()->host_turns_us);
}
