/* Whether NVLink joins two GPUs of one kind. The driver reports native atomics alone, which other links have too, and
 * nothing of GPUs that CUDA_VISIBLE_DEVICES hides from this process, as launchers that pin ranks to GPUs do. NVIDIA's
 * management library (core/nvml.h) knows of all, and may be missing. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/affinity.h"
#include "core/log.h"
#include "core/nvml.h"
#include "core/settings.h"
#include "device/cuda/gpu.h"

/* Of nvml.h: nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t. */
enum { CAPS_NVLINK = 2, STATUS_OK = 0 };

static const struct tutti_nvml *nvml; /* NULL: not usable */

/* The library's start takes longer than all else of a first collective, so a thread makes it. */
static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    pid_t process; /* of the thread, which a forked child lacks */
    enum { NVLINK_NEW, NVLINK_STARTS, NVLINK_KNOWN } state;
    atomic_int started;
} opening = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void nvlink_open(void)
{
    char why[256];
    const struct tutti_nvml *const library = tutti_nvml_open(tutti_settings()->energy_nvml, why, sizeof why);
    if (library && library->Init_v2 && library->DeviceGetHandleByUUID && library->DeviceGetP2PStatus &&
        library->DeviceGetCudaComputeCapability && library->Init_v2() == TUTTI_NVML_OK)
        nvml = library;
}

static void *nvlink_start(void *nothing)
{
    tutti_thread_roam();
    nvlink_open();
    atomic_store_explicit(&opening.started, 1, memory_order_release);
    return nothing;
}

/* Until the library has started. */
static void nvlink_wait(void)
{
    pthread_mutex_lock(&opening.lock);
    if (opening.state == NVLINK_NEW)
        nvlink_open();
    else if (opening.state == NVLINK_STARTS && opening.process == getpid())
        pthread_join(opening.thread, NULL);
    opening.state = NVLINK_KNOWN;
    pthread_mutex_unlock(&opening.lock);
}

/* The library would be unloaded under its thread. */
static void nvlink_at_exit(void)
{
    if (opening.process == getpid())
        nvlink_wait();
}

/* Signals are the program's: none is delivered to the thread. */
static int nvlink_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&opening.thread, NULL, nvlink_start, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

int tutti_cuda_nvlink_ready(void)
{
    if (tutti_settings()->lines != TUTTI_SET_AUTO)
        return 1;
    pthread_mutex_lock(&opening.lock);
    if (opening.state == NVLINK_NEW && nvlink_thread()) {
        opening.state = NVLINK_STARTS;
        opening.process = getpid();
        atexit(nvlink_at_exit);
    }
    const int waits = opening.state == NVLINK_STARTS && !atomic_load_explicit(&opening.started, memory_order_acquire);
    pthread_mutex_unlock(&opening.lock);
    return !waits;
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

int tutti_cuda_nvlink(const unsigned char one[16], const unsigned char other[16])
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    nvlink_wait();
    const int known = nvml ? gpus_ask(one, other) : -1;
    if (known < 0 && !atomic_flag_test_and_set(&said))
        tutti_info(
            "the management library (libnvidia-ml.so.1) does not report whether NVLink joins the GPUs: algorithms "
            "that need it are left out, unless TUTTI_LINES=1");
    return known > 0;
}
