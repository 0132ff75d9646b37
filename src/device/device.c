/* Which devices there are, and which one this process uses. */
#include "device/device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/once.h"
#include "core/settings.h"
#include "core/status.h"

#ifdef TUTTI_HAVE_CUDA
#define BUILT_cuda (&tutti_device_cuda)
#else
#define BUILT_cuda NULL
#endif
#define BUILT_host (&tutti_device_host)

static const struct {
    const char *name;
    const struct tutti_device *device; /* NULL: this build left it out */
    const char *nodes;                 /* texts one after the other; an empty one ends them */
} devices[] = {
#define TUTTI_DEVICE(name_, text, nodes) {#name_, BUILT_##name_, nodes},
#include "tutti/devices.def"
#undef TUTTI_DEVICE
};
enum { DEVICES = sizeof devices / sizeof devices[0] };

static const struct tutti_device *chosen;
static struct tutti_once device_once = TUTTI_ONCE_INIT;

int tutti_device_present(const char *name)
{
    char path[64];
    int i = 0;
    while (i < DEVICES && strcmp(devices[i].name, name) != 0)
        i++;
    if (i == DEVICES)
        return 0;
    for (const char *node = devices[i].nodes; node && *node; node += strlen(node) + 1) {
        snprintf(path, sizeof path, "/dev/%s", node);
        if (access(path, F_OK) == 0)
            return 1;
    }
    return !devices[i].nodes;
}

static const struct tutti_device *by_name(const char *name)
{
    for (int i = 0; i < DEVICES; i++) {
        if (strcmp(devices[i].name, name) == 0)
            return devices[i].device;
    }
    return NULL;
}

static void device_choose(void)
{
    switch (tutti_settings()->device) {
    case TUTTI_SET_DEVICE_NONE:
        return;
    case TUTTI_SET_DEVICE_HOST:
        chosen = by_name("host");
        return;
    case TUTTI_SET_DEVICE_CUDA:
        chosen = by_name("cuda");
        if (!chosen)
            tutti_error("TUTTI_DEVICE=cuda: this build has no CUDA device (nvcc was not there when it was made); every "
                        "call is passed on");
        return;
    }
    for (int i = 0; i < DEVICES && !chosen; i++) {
        if (!tutti_device_present(devices[i].name))
            continue;
        chosen = devices[i].device;
        if (!chosen)
            tutti_info("this machine has hardware of device %s, which this build left out", devices[i].name);
    }
}

const struct tutti_device *tutti_device(void)
{
    tutti_once(&device_once, device_choose);
    return chosen;
}

const struct tutti_device *tutti_device_at(int index, int *built)
{
    *built = 0;
    if (index < 0 || index >= DEVICES)
        return NULL;
    if (devices[index].device) {
        *built = 1;
        return devices[index].device;
    }
    static struct tutti_device left_out[DEVICES]; /* nothing but names */
    left_out[index].name = devices[index].name;
    return &left_out[index];
}

int tutti_device_missing(const struct tutti_device *device, const char *operation)
{
    tutti_error("device %s has no operation %s", device->name, operation);
    return TUTTI_ERR_UNAVAILABLE;
}

int tutti_own_stream_create(const struct tutti_device *device, int gpu, struct tutti_own_stream *own)
{
    *own = (struct tutti_own_stream){.made = NULL};
    int status = device->stream.create(gpu, &own->made);
    if (status == TUTTI_OK)
        status = device->stream.identity(own->made, &gpu, &own->handle);
    return status == TUTTI_OK ? device->stream.wrap(gpu, own->handle, &own->stream) : status;
}

int tutti_own_stream_destroy(const struct tutti_device *device, struct tutti_own_stream *own)
{
    const int wrapped = own->stream ? device->stream.destroy(own->stream) : TUTTI_OK;
    const int made = own->made ? device->stream.destroy(own->made) : TUTTI_OK;
    *own = (struct tutti_own_stream){.made = NULL};
    return wrapped != TUTTI_OK ? wrapped : made;
}
