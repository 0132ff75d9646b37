/* Ranks whose kernels take turns on a GPU. */
#include <string.h>

#include "team/endpoint/endpoint_own.h"

int tutti_endpoint_takes_turns(const struct tutti_endpoint *endpoint, int peer, int gpu)
{
    const struct tutti_device *const device = endpoint->device;
    const int index = tutti_endpoint_index(endpoint, gpu);
    if (index < 0 || tutti_endpoint_is_own(endpoint, peer) || !device->gpu.turns || !device->gpu.turns(gpu))
        return 0;
    const struct tutti_endpoints *const theirs = tutti_endpoint_theirs(endpoint, peer);
    const unsigned char *const uuid = tutti_endpoint_mine(endpoint)->gpu[index].uuid;
    const uint32_t gpus = atomic_load_explicit(&theirs->listens, memory_order_acquire);
    for (uint32_t i = 0; i < gpus && i < TUTTI_ENDPOINT_GPUS; i++) {
        if (memcmp(theirs->gpu[i].uuid, uuid, sizeof theirs->gpu[i].uuid) == 0)
            return 1;
    }
    return 0;
}
