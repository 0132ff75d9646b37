/* What links two GPUs, where CUDA_VISIBLE_DEVICES hides one of them from this process, as launchers that pin ranks to
 * GPUs do. NVIDIA's management library sees all; it is opened at the first question, and may be missing. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/cuda/gpu.h"

/* Of nvml.h: nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t. */
enum { CAPS_NVLINK = 2, STATUS_OK = 0 };

static struct {
    int (*init)(void);
    int (*by_uuid)(const char *uuid, void **device);
    int (*p2p)(void *one, void *other, int what, int *status);
    int usable;
} nvml;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void *library, const char *name, void *entry)
{
    void *symbol = dlsym(library, name);
    memcpy(entry, &symbol, sizeof symbol);
}

static void open_nvml(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    find(library, "nvmlInit_v2", &nvml.init);
    find(library, "nvmlDeviceGetHandleByUUID", &nvml.by_uuid);
    find(library, "nvmlDeviceGetP2PStatus", &nvml.p2p);
    nvml.usable = nvml.init && nvml.by_uuid && nvml.p2p && nvml.init() == 0;
}

static int handle_of(const unsigned char uuid[16], void **device)
{
    char text[64] = "GPU-";
    int at = 4;
    for (int i = 0; i < 16; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                       uuid[i]);
    return nvml.by_uuid(text, device) == 0;
}

int tutti_cuda_nvlink(const unsigned char one[16], const unsigned char other[16])
{
    void *a, *b;
    int status = -1;
    pthread_once(&once, open_nvml);
    return nvml.usable && handle_of(one, &a) && handle_of(other, &b) && nvml.p2p(a, b, CAPS_NVLINK, &status) == 0 &&
           status == STATUS_OK;
}
