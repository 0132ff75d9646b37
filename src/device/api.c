/* The public calls of tutti.h, over the device in use. */
#include "tutti/tutti.h"

#include <stdatomic.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"
#include "device/device.h"

_Atomic uint64_t tutti_device_frees;

const char *tutti_version(void)
{
    return TUTTI_VERSION;
}

const char *tutti_device_name(void)
{
    const struct tutti_device *device = tutti_device();
    return device ? device->name : "none";
}

/* Opens the device. NULL: there is no device, and *status holds the reason. */
static const struct tutti_device *device_opened(int *status)
{
    const struct tutti_device *device = tutti_device();
    char why[256] = "";
    if (!device) {
        *status = TUTTI_ERR_UNAVAILABLE;
        return NULL;
    }
    *status = device->open(why, sizeof why);
    if (*status == TUTTI_OK)
        return device;
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        tutti_warn("device %s cannot be used: %s", device->name, why);
    return NULL;
}

int tutti_alloc(size_t bytes, void **device_pointer)
{
    int status;
    if (!device_pointer)
        return TUTTI_ERR_ARGUMENT;
    const struct tutti_device *device = device_opened(&status);
    int gpu = -1;
    if (device && device->gpu.meet)
        status = device->gpu.meet(&gpu);
    return status == TUTTI_OK ? device->memory.alloc(gpu, bytes, device_pointer) : status;
}

int tutti_free(void *device_pointer)
{
    const struct tutti_device *device = tutti_device();
    if (!device_pointer)
        return TUTTI_OK;
    int status = device ? device->memory.free(device_pointer) : TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK)
        atomic_fetch_add(&tutti_device_frees, 1);
    if (status == TUTTI_ERR_UNAVAILABLE)
        tutti_error("tutti_free: there is no device, or this process was forked from the one whose memory %p is",
                    device_pointer);
    return status;
}

int tutti_copy(void *to, const void *from, size_t bytes)
{
    const struct tutti_device *device = tutti_device();
    if (bytes == 0)
        return TUTTI_OK;
    if (!to || !from)
        return TUTTI_ERR_ARGUMENT;
    if (tutti_device_active(device))
        return device->memory.copy_now(to, from, bytes);
    memmove(to, from, bytes);
    return TUTTI_OK;
}

int tutti_gpu_set(int gpu)
{
    int status;
    const struct tutti_device *device = device_opened(&status);
    return device ? device->gpu.choose(gpu) : status;
}

int tutti_gpu_count(void)
{
    int status;
    const struct tutti_device *device = device_opened(&status);
    return device ? device->gpu.count() : status;
}

int tutti_is_device(const void *pointer)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_memory memory;
    if (!tutti_device_active(device))
        return 0;
    device->memory.classify(pointer, &memory);
    return memory.kind == TUTTI_MEMORY_DEVICE || memory.kind == TUTTI_MEMORY_MANAGED;
}
