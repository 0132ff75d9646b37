/* Where the buffers of a call lie, and the kernel that copies few bytes of them. */
#include "coll/hier/own.h"
#include "core/status.h"
#include "kernels/args.h"
#include "team/deferred_free.h"

void tutti_nodes_few(const struct tutti_team *team, int gpu)
{
    if (!tutti_pack_ready(gpu) && tutti_deferred_free_may_load(team->node))
        tutti_pack_missed(gpu);
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

/* Loading may wait for running kernels, whose peers may wait for this rank. */
int tutti_nodes_kernels(const struct tutti_nodes_call *c)
{
    const struct tutti_device *device = tutti_device();
    const int type = c->call->type, op = c->call->op;
    if (!tutti_has_kernel(type, op) || !device->launch.kernel)
        return 0;
    if (!device->launch.lacks || !device->launch.lacks(c->in_gpu, TUTTI_KERNEL_DIRECT, type, op))
        return 1;
    return tutti_deferred_free_may_load(c->team->node) &&
           device->launch.prepare(c->in_gpu, UINT32_C(1) << TUTTI_KERNEL_DIRECT, type, op) == TUTTI_OK;
}
