#include "progress/stall.h"

#include "core/clock.h"
#include "core/settings.h"
#include "core/status.h"

void tutti_stall_poll(struct tutti_stall *stall, int at)
{
    if (stall->since == 0 || stall->at != at)
        *stall = (struct tutti_stall){.since = tutti_now_ns(), .at = at};
}

int tutti_stall_look(struct tutti_stall *stall, uint64_t *seconds)
{
    *seconds = (tutti_now_ns() - stall->since) / UINT64_C(1000000000);
    if (*seconds >= (uint64_t)tutti_settings()->timeout_seconds)
        return TUTTI_ERR_TIMEOUT;
    if (stall->reported || *seconds < (uint64_t)tutti_settings()->stall_seconds)
        return TUTTI_OK;
    stall->reported = 1;
    return TUTTI_STALL_REPORT;
}
