/* NVIDIA's management library (NVML), opened at run time with declarations of our own: the one place that opens it. Its
 * users are src/energy and src/device/cuda. */
#ifndef TUTTI_CORE_NVML_H
#define TUTTI_CORE_NVML_H

#include <stddef.h>

/* Of nvml.h: statuses that more than one user needs. */
enum { TUTTI_NVML_OK = 0, TUTTI_NVML_NOT_SUPPORTED = 3 };

struct tutti_nvml_field {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
        double d;
        unsigned u;
        unsigned long l;
        unsigned long long ll;
    } value;
};

struct tutti_nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned instance, compute_instance;
};

/* Its entries, by name: X(name, arguments of a call that returns a status). */
#define TUTTI_NVML_CALLS(X)                                                                                            \
    X(Init_v2, (void))                                                                                                 \
    X(Shutdown, (void))                                                                                                \
    X(DeviceGetCount_v2, (unsigned *count))                                                                            \
    X(DeviceGetHandleByIndex_v2, (unsigned index, void **device))                                                      \
    X(DeviceGetHandleByUUID, (const char *uuid, void **device))                                                        \
    X(DeviceGetUUID, (void *device, char *uuid, unsigned size))                                                        \
    X(DeviceGetName, (void *device, char *name, unsigned size))                                                        \
    X(DeviceGetTotalEnergyConsumption, (void *device, unsigned long long *mj))                                         \
    X(DeviceGetPowerUsage, (void *device, unsigned *mw))                                                               \
    X(DeviceGetEnforcedPowerLimit, (void *device, unsigned *mw))                                                       \
    X(DeviceGetClockInfo, (void *device, int clock, unsigned *mhz))                                                    \
    X(DeviceGetTemperature, (void *device, int sensor, unsigned *celsius))                                             \
    X(DeviceGetFieldValues, (void *device, int n, struct tutti_nvml_field *fields))                                    \
    X(DeviceGetComputeRunningProcesses_v3, (void *device, unsigned *n, struct tutti_nvml_process *processes))          \
    X(DeviceGetP2PStatus, (void *one, void *other, int what, int *status))                                             \
    X(DeviceGetCudaComputeCapability, (void *device, int *major, int *minor))

/* An entry that the library lacks is NULL: each user checks those that it needs. The library counts its starts
 * (Init_v2), and Shutdown ends one of them. The first start attaches to all GPUs, in 66 ms on a host with H100s. A
 * first start by nvmlInitWithFlags that attaches to none is no way round that: on some drivers the library then finds
 * no GPU in the whole process, also for NCCL and other users whose own starts are not the first. */
struct tutti_nvml {
    const char *(*ErrorString)(int status);
#define TUTTI_NVML_ENTRY(name, arguments) int(*name) arguments;
    TUTTI_NVML_CALLS(TUTTI_NVML_ENTRY)
#undef TUTTI_NVML_ENTRY
};

/* By any thread. The library of this name or path, which stays open as long as the process lives. NULL: it cannot be
 * opened, and `why` has the loader's text. */
const struct tutti_nvml *tutti_nvml_open(const char *name, char *why, size_t size);

#endif
