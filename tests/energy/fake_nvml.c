/* A pretended management library: three GPUs whose readings a test sets through `fake_nvml`. FAKE_NVML_WATTS="100,250"
 * in the environment makes as many GPUs of steady power, whose counters follow the clock in steps of 100 ms, as real
 * ones do. */
#include "fake_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, POWER_AVERAGE = 185, POWER_INSTANT = 186, STEP_MS = 100 };

EXPORT struct fake_nvml fake_nvml = {.count = FAKE_GPUS};
static char handles[FAKE_GPUS];

struct field {
    unsigned field, scope;
    long long timestamp, latency;
    int type, status;
    unsigned long long value;
};

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int status);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size);
EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned size);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw);
EXPORT int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned instance, compute_instance;
};
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *processes);
EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct field *fields);

static int of(void *device)
{
    return (int)((char *)device - handles);
}

static unsigned long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

static int by_clock(void)
{
    return getenv("FAKE_NVML_WATTS") != NULL;
}

int nvmlInit_v2(void)
{
    const char *at = getenv("FAKE_NVML_WATTS");
    for (fake_nvml.count = at ? 0 : fake_nvml.count; at && *at && fake_nvml.count < FAKE_GPUS; at += *at == ',') {
        char *end;
        fake_nvml.mw[fake_nvml.count++] = (unsigned)(1000 * strtod(at, &end));
        at = end;
    }
    return fake_nvml.init;
}

int nvmlShutdown(void)
{
    return OK;
}

const char *nvmlErrorString(int status)
{
    return status == 4           ? "Insufficient Permissions"
           : status == NOT_FOUND ? "Not Found"
           : status == 9         ? "Driver Not Loaded"
                                 : "Not Supported";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = (unsigned)fake_nvml.count;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &handles[index];
    return OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    int gpu = -1;
    if (sscanf(uuid, "GPU-fake-%d", &gpu) != 1 || gpu < 0 || gpu >= fake_nvml.count)
        return NOT_FOUND;
    *device = &handles[gpu];
    return OK;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size)
{
    snprintf(uuid, size, "GPU-fake-%d", of(device));
    return OK;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    (void)device;
    snprintf(name, size, "Pretended GPU");
    return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    fake_nvml.counter_reads++;
    *mj = by_clock() ? now_ms() / STEP_MS * STEP_MS * fake_nvml.mw[of(device)] / 1000 : fake_nvml.mj[of(device)];
    return fake_nvml.counter_status[of(device)];
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    *mw = fake_nvml.mw[of(device)];
    return fake_nvml.power_status[of(device)];
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw)
{
    (void)device;
    *mw = 700000;
    return OK;
}

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = clock == 2 ? 2619 : 1980;
    return OK;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 41;
    return sensor == 0 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(void *device, int n, struct field *fields)
{
    for (int i = 0; i < n; i++) {
        struct field *f = &fields[i];
        fake_nvml.field_reads++;
        const int power = f->field == POWER_INSTANT || f->field == POWER_AVERAGE;
        f->status = !power || (f->scope == 1 && !fake_nvml.module) ? NOT_SUPPORTED : fake_nvml.power_status[of(device)];
        f->type = 1;
        f->value = f->scope == 1 ? fake_nvml.module_mw[of(device)] : fake_nvml.mw[of(device)];
    }
    return OK;
}

/* FAKE_NVML_USERS=FOLDER: FOLDER/0 lists the processes on GPU 0. */
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *processes)
{
    const char *folder = getenv("FAKE_NVML_USERS");
    char path[256];
    unsigned found = 0, pid;
    snprintf(path, sizeof path, "%s/%d", folder ? folder : "/nowhere", of(device));
    FILE *file = fopen(path, "r");
    while (file && found < *n && fscanf(file, "%u", &pid) == 1)
        processes[found++] = (struct process){.pid = pid};
    if (file)
        fclose(file);
    *n = found;
    return OK;
}
