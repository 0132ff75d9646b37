#include "device/host/asked.h"

#include <stdatomic.h>
#include <time.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"

static atomic_int asked;

void tutti_host_asked(int more)
{
    atomic_fetch_add(&asked, more);
}

void tutti_host_asked_await(const char *what)
{
    const struct timespec pause = {.tv_nsec = 50000};
    if (atomic_load(&asked) == 0)
        return;
    const uint64_t begin = tutti_now_ns(), limit = (uint64_t)tutti_settings()->stall_seconds * UINT64_C(1000000000);
    for (int reported = limit == 0; atomic_load(&asked) > 0;) {
        nanosleep(&pause, NULL);
        if (!reported && tutti_now_ns() - begin > limit) {
            tutti_error("host device: %s waits for a kernel that waits for a step of the host", what);
            reported = 1;
        }
    }
}
