/* A pretended management library that knows four GPUs, those of the pretended driver and two that it hides, by the
 * first byte of their UUIDs: 0x40 to 0x43. */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { GPUS = 4, FIRST = 0x40, CAPS_NVLINK = 2, NOT_FOUND = 6, NOT_SUPPORTED = 3 };

/* What a test asks for. */
EXPORT int fake_nvml_joined = 1, fake_nvml_major[GPUS] = {9, 9, 9, 9};
/* Starts of the library, and questions about pairs; a start waits while it is held. */
EXPORT int fake_nvml_starts, fake_nvml_questions;
EXPORT atomic_int fake_nvml_held;
static char handles[GPUS];

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
EXPORT int nvmlDeviceGetP2PStatus(void *one, void *other, int what, int *status);
EXPORT int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);

int nvmlInit_v2(void)
{
    fake_nvml_starts++;
    while (atomic_load(&fake_nvml_held))
        usleep(100);
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    unsigned first = 0;
    if (sscanf(uuid, "GPU-%2x", &first) != 1 || first < FIRST || first >= FIRST + GPUS)
        return NOT_FOUND;
    *device = &handles[first - FIRST];
    return 0;
}

int nvmlDeviceGetP2PStatus(void *one, void *other, int what, int *status)
{
    fake_nvml_questions++;
    *status = one != other && what == CAPS_NVLINK && fake_nvml_joined ? 0 : NOT_SUPPORTED;
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    *major = fake_nvml_major[(char *)device - handles];
    *minor = 0;
    return 0;
}
