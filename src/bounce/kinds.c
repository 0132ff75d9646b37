/* The kinds of memory that the device itself gives. */
#include "bounce/bounce.h"
#include "device/device.h"

static int alloc_pinned(int gpu, size_t bytes, void **memory)
{
    const struct tutti_device *device = tutti_device();
    (void)gpu;
    return device->memory.alloc_pinned ? device->memory.alloc_pinned(bytes, memory)
                                       : tutti_device_missing(device, "memory.alloc_pinned");
}

static void free_pinned(void *memory)
{
    tutti_device()->memory.free_pinned(memory);
}

static int alloc_device(int gpu, size_t bytes, void **memory)
{
    return tutti_device()->memory.alloc(gpu, bytes, memory);
}

static void free_device(void *memory)
{
    tutti_device()->memory.free(memory);
}

void tutti_bounce_look(void)
{
    const struct tutti_device *device = tutti_device();
    if (device->gpu.look)
        device->gpu.look();
}

const struct tutti_bounce_kind tutti_bounce_pinned = {
    .name = "pinned", .shared = 1, .alloc = alloc_pinned, .free = free_pinned, .look = tutti_bounce_look};
const struct tutti_bounce_kind tutti_bounce_device = {
    .name = "device", .bounded = 1, .alloc = alloc_device, .free = free_device, .look = tutti_bounce_look};
