/* Whether NVLink joins two GPUs of one kind. The driver reports native atomics alone, which other links have too, and
 * nothing of GPUs that CUDA_VISIBLE_DEVICES hides from this process, as launchers that pin ranks to GPUs do. NVIDIA's
 * management library (core/nvml.h) knows of all; it is opened at the first question, and may be missing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/log.h"
#include "core/nvml.h"
#include "core/settings.h"
#include "device/cuda/gpu.h"

/* Of nvml.h: nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t. */
enum { CAPS_NVLINK = 2, STATUS_OK = 0 };

static const struct tutti_nvml *nvml; /* NULL: not usable */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Starts the library again, with all GPUs; once. */
static int attach_all(void)
{
    static atomic_int attached;
    return !atomic_exchange(&attached, 1) && tutti_nvml_start(nvml, 1) == TUTTI_NVML_OK;
}

static void nvlink_open(void)
{
    char why[256];
    const struct tutti_nvml *const library = tutti_nvml_open(tutti_settings()->energy_nvml, why, sizeof why);
    if (library && library->DeviceGetHandleByUUID && library->DeviceGetP2PStatus &&
        library->DeviceGetCudaComputeCapability && tutti_nvml_start(library, 0) == TUTTI_NVML_OK)
        nvml = library;
}

static int handle_of(const unsigned char uuid[16], void **device)
{
    char text[64] = "GPU-";
    int at = 4;
    for (int i = 0; i < 16; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                       uuid[i]);
    return nvml->DeviceGetHandleByUUID(text, device) == TUTTI_NVML_OK;
}

static int capability_of(void *device)
{
    int major, minor;
    return nvml->DeviceGetCudaComputeCapability(device, &major, &minor) == TUTTI_NVML_OK ? major * 100 + minor : -1;
}

/* Negative: not known. */
static int gpus_ask(const unsigned char one[16], const unsigned char other[16])
{
    void *a, *b;
    int status;
    if (!handle_of(one, &a) || !handle_of(other, &b) ||
        nvml->DeviceGetP2PStatus(a, b, CAPS_NVLINK, &status) != TUTTI_NVML_OK)
        return -1;
    const int kind = capability_of(a);
    return kind < 0 ? -1 : status == STATUS_OK && kind == capability_of(b);
}

static int gpus_joined(const unsigned char one[16], const unsigned char other[16])
{
    pthread_once(&once, nvlink_open);
    if (!nvml)
        return -1;
    const int known = gpus_ask(one, other);
    return known < 0 && attach_all() ? gpus_ask(one, other) : known;
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
