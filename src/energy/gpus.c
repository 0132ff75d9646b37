/* GPUs: NVML (core/nvml.h). NVML counts all GPUs of the machine and does not follow
 * CUDA_VISIBLE_DEVICES: a GPU is named by its UUID. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/nvml.h"
#include "core/status.h"
#include "energy/source.h"

/* Of nvml.h. */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };
enum { NVML_POWER_AVERAGE = 185, NVML_POWER_INSTANT = 186, NVML_SCOPE_GPU = 0, NVML_SCOPE_MODULE = 1 };
enum { STATE_EVERY = 20 }; /* samples */
enum { NVML_VALUE_DOUBLE = 0, NVML_VALUE_ULONG = 2, NVML_VALUE_ULLONG = 3 };
/* 1 if the library has what every sample needs; field values and processes are of later drivers. */
static int gpus_can(const struct tutti_nvml *nvml)
{
    return nvml->Init_v2 && nvml->Shutdown && nvml->ErrorString && nvml->DeviceGetCount_v2 &&
           nvml->DeviceGetHandleByIndex_v2 && nvml->DeviceGetHandleByUUID && nvml->DeviceGetUUID &&
           nvml->DeviceGetName && nvml->DeviceGetTotalEnergyConsumption && nvml->DeviceGetPowerUsage &&
           nvml->DeviceGetEnforcedPowerLimit && nvml->DeviceGetClockInfo && nvml->DeviceGetTemperature;
}

static double field_watts(const struct tutti_nvml_field *f)
{
    const double mw = f->type == NVML_VALUE_DOUBLE   ? f->value.d
                      : f->type == NVML_VALUE_ULONG  ? (double)f->value.l
                      : f->type == NVML_VALUE_ULLONG ? (double)f->value.ll
                                                     : (double)f->value.u;
    return mw * 1e-3;
}

/* Reading the energy counter takes 6 ms on H100, and slows down what the GPU's programs launch meanwhile; a field of
 * power takes 10 us. A sample asks for few fields: the power, that of the module if there is one, and the average only
 * with the state. */
static int is_state_due(const struct energy_source *source)
{
    return source->sums.samples % STATE_EVERY == 0;
}

static void gpu_read_power(const struct energy_source *source, struct energy_reading *out)
{
    const struct tutti_nvml *nvml = source->library;
    void *const device = source->device;
    struct tutti_nvml_field f[3] = {{.field = NVML_POWER_INSTANT, .scope = NVML_SCOPE_GPU, .status = -1},
                                    {.field = NVML_POWER_INSTANT, .scope = NVML_SCOPE_MODULE, .status = -1},
                                    {.field = NVML_POWER_AVERAGE, .scope = NVML_SCOPE_GPU, .status = -1}};
    const int n = is_state_due(source) ? 3 : source->last.never_module ? 1 : 2;
    out->average_w = source->last.average_w;
    out->never_module = source->last.never_module;
    if (nvml->DeviceGetFieldValues && nvml->DeviceGetFieldValues(device, n, f) == TUTTI_NVML_OK) {
        out->has_power = f[0].status == TUTTI_NVML_OK;
        out->watts = out->has_power ? field_watts(&f[0]) : 0;
        out->has_module = f[1].status == TUTTI_NVML_OK;
        out->module_watts = out->has_module ? field_watts(&f[1]) : 0;
        if (n > 1)
            out->never_module = f[1].status == TUTTI_NVML_NOT_SUPPORTED;
        if (f[2].status == TUTTI_NVML_OK)
            out->average_w = field_watts(&f[2]);
    }
    unsigned mw;
    if (out->has_power)
        return;
    const int status = nvml->DeviceGetPowerUsage(device, &mw);
    out->has_power = status == TUTTI_NVML_OK;
    out->never_power = status == TUTTI_NVML_NOT_SUPPORTED;
    if (out->has_power)
        out->watts = mw * 1e-3;
}

/* Clocks, temperature and cap, every so many samples. */
static void gpu_read_state(const struct energy_source *source, struct energy_reading *out)
{
    const struct tutti_nvml *nvml = source->library;
    unsigned value;
    if (!is_state_due(source)) {
        out->clock_mhz = source->last.clock_mhz;
        out->memory_clock_mhz = source->last.memory_clock_mhz;
        out->celsius = source->last.celsius;
        out->cap_w = source->last.cap_w;
        return;
    }
    if (nvml->DeviceGetClockInfo(source->device, NVML_CLOCK_SM, &value) == TUTTI_NVML_OK)
        out->clock_mhz = value;
    if (nvml->DeviceGetClockInfo(source->device, NVML_CLOCK_MEM, &value) == TUTTI_NVML_OK)
        out->memory_clock_mhz = value;
    if (nvml->DeviceGetTemperature(source->device, NVML_TEMPERATURE_GPU, &value) == TUTTI_NVML_OK)
        out->celsius = value;
    if (nvml->DeviceGetEnforcedPowerLimit(source->device, &value) == TUTTI_NVML_OK)
        out->cap_w = value * 1e-3;
}

static void gpu_read(struct energy_source *source, struct energy_reading *out)
{
    const struct tutti_nvml *nvml = source->library;
    unsigned long long mj = 0;
    if (!out->power_alone) {
        const int status = nvml->DeviceGetTotalEnergyConsumption(source->device, &mj);
        out->has_counter = status == TUTTI_NVML_OK;
        out->never_counter = status == TUTTI_NVML_NOT_SUPPORTED;
        out->counter_uj = mj * 1000;
        if (!out->has_counter)
            snprintf(out->reason, sizeof out->reason, "NVML's energy counter: %.160s", nvml->ErrorString(status));
    }
    gpu_read_power(source, out);
    gpu_read_state(source, out);
}

static void gpu_close(struct energy_source *source)
{
    (void)source;
}

static int gpu_processes(struct energy_source *source, int *pids, int room)
{
    enum { PROCESSES = 64 };
    const struct tutti_nvml *nvml = source->library;
    struct tutti_nvml_process process[PROCESSES];
    unsigned n = PROCESSES;
    if (!nvml->DeviceGetComputeRunningProcesses_v3 ||
        nvml->DeviceGetComputeRunningProcesses_v3(source->device, &n, process) != TUTTI_NVML_OK)
        return TUTTI_ERR_UNAVAILABLE;
    n = n < PROCESSES ? n : PROCESSES;
    for (int i = 0; i < (int)n && i < room; i++)
        pids[i] = (int)process[i].pid;
    return (int)n;
}

static const struct energy_ops gpu_ops = {.dear = 1, .read = gpu_read, .close = gpu_close, .processes = gpu_processes};

static void gpu_add(struct energy_sources *sources, const struct tutti_nvml *nvml, void *device, int index)
{
    char name[48];
    struct energy_reading first = {.average_w = NAN};
    snprintf(name, sizeof name, "gpu %d", index);
    struct energy_source *source = energy_source_add(sources, TUTTI_ENERGY_GPU, name);
    if (!source)
        return;
    struct tutti_energy_source *about = &source->about;
    nvml->DeviceGetUUID(device, about->id, sizeof about->id);
    nvml->DeviceGetName(device, about->model, sizeof about->model);
    source->device = device;
    source->library = nvml;
    gpu_read(source, &first);
    /* A reading that fails now may succeed later: only what the device lacks for good is left out. */
    about->counter = !first.never_counter;
    about->power = !first.never_power;
    if (about->counter || about->power)
        source->ops = &gpu_ops;
    else
        snprintf(about->reason, sizeof about->reason, "%.200s; no power reading either", first.reason);
}

static void gpus_add_listed(struct energy_sources *sources, const struct tutti_nvml *nvml, const char *gpus)
{
    char *copy = strdup(gpus), *rest = copy, *uuid;
    int index = 0;
    while (copy && (uuid = strsep(&rest, ",")) != NULL) {
        char reason[256], name[48];
        void *device = NULL;
        const int status = nvml->DeviceGetHandleByUUID(uuid, &device);
        if (status == TUTTI_NVML_OK) {
            gpu_add(sources, nvml, device, index++);
            continue;
        }
        snprintf(reason, sizeof reason, "NVML knows no GPU %.96s: %s", uuid, nvml->ErrorString(status));
        snprintf(name, sizeof name, "gpu %d", index++);
        energy_source_missing(sources, TUTTI_ENERGY_GPU, name, reason);
    }
    free(copy);
}

static void gpus_add_all(struct energy_sources *sources, const struct tutti_nvml *nvml)
{
    unsigned n = 0;
    const int status = nvml->DeviceGetCount_v2(&n);
    if (status != TUTTI_NVML_OK || n == 0)
        energy_source_missing(sources, TUTTI_ENERGY_GPU, "gpu",
                              status != TUTTI_NVML_OK ? nvml->ErrorString(status) : "NVML lists no GPU");
    for (unsigned i = 0; status == TUTTI_NVML_OK && i < n; i++) {
        char name[48];
        void *device = NULL;
        const int failed = nvml->DeviceGetHandleByIndex_v2(i, &device);
        snprintf(name, sizeof name, "gpu %u", i);
        if (failed != TUTTI_NVML_OK)
            energy_source_missing(sources, TUTTI_ENERGY_GPU, name, nvml->ErrorString(failed));
        else
            gpu_add(sources, nvml, device, (int)i);
    }
}

const void *energy_gpus_open(struct energy_sources *sources, const char *library, const char *gpus)
{
    char reason[256] = "", why[200] = "";
    if (strcmp(gpus, "none") == 0)
        return NULL;
    const struct tutti_nvml *const nvml = tutti_nvml_open(library, why, sizeof why);
    if (!nvml)
        snprintf(reason, sizeof reason, "no NVML: %s", why);
    else if (!gpus_can(nvml))
        snprintf(reason, sizeof reason, "NVML in %.160s is too old", library);
    const int status = reason[0] ? TUTTI_NVML_OK : nvml->Init_v2();
    if (status != TUTTI_NVML_OK)
        snprintf(reason, sizeof reason, "NVML does not start: %.200s", nvml->ErrorString(status));
    if (reason[0]) {
        energy_source_missing(sources, TUTTI_ENERGY_GPU, "gpu", reason);
        return NULL;
    }
    if (gpus[0])
        gpus_add_listed(sources, nvml, gpus);
    else
        gpus_add_all(sources, nvml);
    return nvml;
}

void energy_gpus_close(const void *opened)
{
    const struct tutti_nvml *const nvml = opened;
    if (nvml)
        nvml->Shutdown();
}
