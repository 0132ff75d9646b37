/* The allocation that was classified last, so that the driver is asked once per allocation. */
#ifndef TUTTI_P2P_SEEN_H
#define TUTTI_P2P_SEEN_H

#include "device/device.h"
#include "team/endpoint.h"

struct tutti_seen {
    struct tutti_memory memory; /* not DEVICE: no allocation yet */
    struct tutti_endpoint_memo memo;
};
/* Local. 1 if all of [first, end) is in one allocation of a GPU: seen->memory. In a process that has a device. */
int tutti_seen_holds(struct tutti_seen *seen, const char *first, const char *end);

#endif
