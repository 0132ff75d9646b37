/* Where the buffers of a call lie, and the kernel that copies few bytes of them. */
#include "coll/hier/own.h"
#include "core/status.h"
#include "team/deferred_free.h"

void tutti_nodes_few(const struct tutti_team *team, int gpu)
{
    if (tutti_pack_state(gpu) != TUTTI_PACK_READY && tutti_deferred_free_may_load(team->node))
        tutti_pack_lost(gpu, TUTTI_PACK_FEW_LOST);
}

void tutti_nodes_look_at(const void *buffer, int *host, int *gpu)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_memory memory = {.kind = TUTTI_MEMORY_HOST, .gpu = -1};
    if (tutti_device_active(device))
        device->memory.classify(buffer, &memory);
    *host = memory.kind == TUTTI_MEMORY_HOST || memory.kind == TUTTI_MEMORY_PINNED;
    *gpu = memory.gpu;
    if (!*host && *gpu < 0 && (device->gpu.current(gpu) != TUTTI_OK || *gpu < 0))
        *gpu = 0;
}
