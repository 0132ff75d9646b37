/* Where the buffers of a call lie, and the kernel that copies few bytes of them. */
#include "coll/hier/own.h"
#include "core/status.h"

void tutti_nodes_few(struct tutti_nodes *nodes, int gpu)
{
    enum { REPEATED = 16 };
    if (nodes->few == REPEATED)
        return;
    if (++nodes->few == REPEATED && !tutti_pack_ready(gpu))
        (void)tutti_pack_prepare(gpu, NULL);
}

void tutti_nodes_look_at(const void *buffer, int *host, int *gpu)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_memory memory = {.kind = TUTTI_MEMORY_HOST, .gpu = -1};
    if (device && device->active())
        device->memory.classify(buffer, &memory);
    *host = memory.kind == TUTTI_MEMORY_HOST || memory.kind == TUTTI_MEMORY_PINNED;
    *gpu = memory.gpu;
    if (!*host && *gpu < 0 && (device->gpu.current(gpu) != TUTTI_OK || *gpu < 0))
        *gpu = 0;
}
