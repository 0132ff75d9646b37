/* The two allocations that were classified last, so that the driver is asked once per allocation where calls go to and
 * fro between a buffer that is sent and one that is received. */
#ifndef TUTTI_TEAM_SEEN_H
#define TUTTI_TEAM_SEEN_H

#include "device/device.h"
#include "team/endpoint.h"

struct tutti_seen {
    struct tutti_memory memory; /* not DEVICE: no allocation yet */
    struct tutti_endpoint_memo memo;
    struct {
        struct tutti_memory memory;
        struct tutti_endpoint_memo memo;
    } before; /* the one before it */
};
/* memory: of the last classified address; NULL: no address has been classified. */
static inline void tutti_seen_begin(struct tutti_seen *seen, const struct tutti_memory *memory)
{
    if (memory)
        seen->memory = *memory;
    else
        seen->memory.kind = TUTTI_MEMORY_HOST;
    seen->before.memory.kind = TUTTI_MEMORY_HOST;
    seen->memo.of = seen->before.memo.of = NULL;
}
/* Local. 1 if all of [first, end) is in one allocation of a GPU: seen->memory. In a process that has a device. */
int tutti_seen_holds(struct tutti_seen *seen, const char *first, const char *end);

#endif
