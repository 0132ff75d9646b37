/* How long a stream may wait for the host. */
#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "mpi/reduce/stream_own.h"

int tutti_proxy_look_at_time(uint64_t since, int *reported, const char *name)
{
    const uint64_t seconds = (tutti_now_ns() - since) / UINT64_C(1000000000);
    if (seconds >= (uint64_t)tutti_settings()->timeout_seconds)
        return TUTTI_ERR_TIMEOUT;
    if (!*reported && seconds >= (uint64_t)tutti_settings()->stall_seconds) {
        *reported = 1;
        tutti_warn("waiting for %llu s: %s, in the order of a stream, for other ranks", (unsigned long long)seconds,
                   name);
    }
    return 0;
}
