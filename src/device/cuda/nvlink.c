/* Whether NVLink joins two GPUs of one kind. The driver reports native atomics alone, which other links have too, and
 * nothing of GPUs that CUDA_VISIBLE_DEVICES hides from this process, as launchers that pin ranks to GPUs do. NVIDIA's
 * management library knows of all; it is opened at the first question, and may be missing. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "device/cuda/gpu.h"

/* Of nvml.h: nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t. */
enum { CAPS_NVLINK = 2, STATUS_OK = 0 };

static struct {
    int (*init)(void);
    int (*by_uuid)(const char *uuid, void **device);
    int (*p2p)(void *one, void *other, int what, int *status);
    int (*capability)(void *device, int *major, int *minor);
    int usable;
} nvml;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void nvlink_find(void *library, const char *name, void *entry)
{
    void *symbol = dlsym(library, name);
    memcpy(entry, &symbol, sizeof symbol);
}

static void open_nvml(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    nvlink_find(library, "nvmlInit_v2", &nvml.init);
    nvlink_find(library, "nvmlDeviceGetHandleByUUID", &nvml.by_uuid);
    nvlink_find(library, "nvmlDeviceGetP2PStatus", &nvml.p2p);
    nvlink_find(library, "nvmlDeviceGetCudaComputeCapability", &nvml.capability);
    nvml.usable = nvml.init && nvml.by_uuid && nvml.p2p && nvml.capability && nvml.init() == 0;
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

static int capability_of(void *device)
{
    int major, minor;
    return nvml.capability(device, &major, &minor) == 0 ? major * 100 + minor : -1;
}

/* Negative: not known. */
static int gpus_joined(const unsigned char one[16], const unsigned char other[16])
{
    void *a, *b;
    int status;
    pthread_once(&once, open_nvml);
    if (!nvml.usable || !handle_of(one, &a) || !handle_of(other, &b) || nvml.p2p(a, b, CAPS_NVLINK, &status) != 0)
        return -1;
    int kind = capability_of(a);
    return kind < 0 ? -1 : status == STATUS_OK && kind == capability_of(b);
}

int tutti_cuda_nvlink(const unsigned char one[16], const unsigned char other[16])
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    int known = gpus_joined(one, other);
    if (known < 0 && !atomic_flag_test_and_set(&said))
        tutti_info(
            "the management library (libnvidia-ml.so.1) does not report whether NVLink joins the GPUs: algorithms "
            "that need it are left out, unless TUTTI_LINES=1");
    return known > 0;
}
