/* Whether NVLink joins two GPUs of one kind. Drivers since CUDA 13 say whether a link carries all atomics, as NVLink
 * does, or only some, as PCIe does, of GPUs that this process sees. Earlier ones count both alike, and none knows of
 * GPUs that CUDA_VISIBLE_DEVICES hides, as launchers that pin ranks to GPUs do: then NVIDIA's management library
 * (core/nvml.h) is asked, which knows all GPUs and may be missing. It takes longer than all else of a first collective:
 * 10 ms to start and 6 ms for each GPU (H200), so a thread asks it, and the answers are kept. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/affinity.h"
#include "core/log.h"
#include "core/nvml.h"
#include "core/settings.h"
#include "device/cuda/gpu.h"

/* Of nvml.h: nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t. */
enum { CAPS_NVLINK = 2, STATUS_OK = 0 };
enum { ONLY_PARTIAL_ATOMICS = 5 }; /* of CUdevice_P2PAttribute since CUDA 13 */
enum { ASKED_MOST = 16, ANSWERS_MOST = ASKED_MOST * ASKED_MOST };

struct answer {
    unsigned char one[16], other[16];
    int joined; /* -1: NVML cannot answer */
};

/* NVML and the answers. A thread that asks holds the lock meanwhile. */
static struct {
    pthread_mutex_t lock;
    int opened;
    const struct tutti_nvml *library; /* NULL: not usable */
    struct answer answers[ANSWERS_MOST];
    atomic_int n; /* answers so far, which do not change any more */
} nvlink = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The thread and its questions, which the next thread's follow. */
static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    pid_t process; /* of the thread, which a forked child lacks; 0: no thread is to be joined */
    atomic_int runs;
    unsigned char gpus[ASKED_MOST][16];
    int n;
} asking = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void nvlink_open(void)
{
    char why[256];
    const struct tutti_nvml *const library = tutti_nvml_open(tutti_settings()->energy_nvml, why, sizeof why);
    nvlink.opened = 1;
    if (library && library->Init_v2 && library->DeviceGetHandleByUUID && library->DeviceGetP2PStatus &&
        library->DeviceGetCudaComputeCapability && library->Init_v2() == TUTTI_NVML_OK)
        nvlink.library = library;
}

static int handle_of(const unsigned char uuid[16], void **device)
{
    char text[64] = "GPU-";
    int at = 4;
    for (int i = 0; i < 16; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                       uuid[i]);
    return nvlink.library->DeviceGetHandleByUUID(text, device) == TUTTI_NVML_OK;
}

static int capability_of(void *device)
{
    int major, minor;
    return nvlink.library->DeviceGetCudaComputeCapability(device, &major, &minor) == TUTTI_NVML_OK ? major * 100 + minor
                                                                                                   : -1;
}

/* Negative: not known. */
static int gpus_ask(const unsigned char one[16], const unsigned char other[16])
{
    void *a, *b;
    int status;
    if (!nvlink.library || !handle_of(one, &a) || !handle_of(other, &b) ||
        nvlink.library->DeviceGetP2PStatus(a, b, CAPS_NVLINK, &status) != TUTTI_NVML_OK)
        return -1;
    const int kind = capability_of(a);
    return kind < 0 ? -1 : status == STATUS_OK && kind == capability_of(b);
}

/* The driver's answer, from any thread. Negative: it gives no answer. */
static int driver_says(const unsigned char one[16], const unsigned char other[16])
{
    CUdevice a, b;
    int all, some, of_a, of_b;
    if (!tutti_cuda_of_uuid(one, &a) || !tutti_cuda_of_uuid(other, &b) ||
        tutti_cuda.DeviceGetP2PAttribute(&some, (CUdevice_P2PAttribute)ONLY_PARTIAL_ATOMICS, a, b) != CUDA_SUCCESS ||
        tutti_cuda.DeviceGetP2PAttribute(&all, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, a, b) != CUDA_SUCCESS ||
        (all && some))
        return -1;
    for (int i = 0; i < 2; i++) {
        static const CUdevice_attribute parts[] = {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR};
        if (tutti_cuda.DeviceGetAttribute(&of_a, parts[i], a) != CUDA_SUCCESS ||
            tutti_cuda.DeviceGetAttribute(&of_b, parts[i], b) != CUDA_SUCCESS)
            return -1;
        all = all && of_a == of_b;
    }
    return all;
}

static int answer_is_of(const struct answer *answer, const unsigned char one[16], const unsigned char other[16])
{
    return memcmp(answer->one, one, 16) == 0 && memcmp(answer->other, other, 16) == 0;
}

/* NULL: the two have not been asked about. */
static const struct answer *answer_find(const unsigned char one[16], const unsigned char other[16])
{
    const int n = atomic_load_explicit(&nvlink.n, memory_order_acquire);
    for (int i = 0; i < n; i++) {
        if (answer_is_of(&nvlink.answers[i], one, other) || answer_is_of(&nvlink.answers[i], other, one))
            return &nvlink.answers[i];
    }
    return NULL;
}

/* Waits for a thread that asks. Negative: not known. */
static int answer_get(const unsigned char one[16], const unsigned char other[16])
{
    pthread_mutex_lock(&nvlink.lock);
    const struct answer *answer = answer_find(one, other);
    int joined = answer ? answer->joined : -1;
    if (!answer) {
        if (!nvlink.opened)
            nvlink_open();
        joined = gpus_ask(one, other);
        const int n = atomic_load_explicit(&nvlink.n, memory_order_relaxed);
        if (n < ANSWERS_MOST) {
            memcpy(nvlink.answers[n].one, one, 16);
            memcpy(nvlink.answers[n].other, other, 16);
            nvlink.answers[n].joined = joined;
            atomic_store_explicit(&nvlink.n, n + 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&nvlink.lock);
    return joined;
}

static void *asking_run(void *nothing)
{
    tutti_thread_roam();
    for (int a = 0; a < asking.n; a++) {
        for (int b = a + 1; b < asking.n; b++) {
            if (driver_says(asking.gpus[a], asking.gpus[b]) < 0)
                (void)answer_get(asking.gpus[a], asking.gpus[b]);
        }
    }
    atomic_store_explicit(&asking.runs, 0, memory_order_release);
    return nothing;
}

static void asking_join(void)
{
    if (asking.process == getpid())
        pthread_join(asking.thread, NULL);
    asking.process = 0;
}

/* The library would be unloaded under its thread. */
static void asking_at_exit(void)
{
    pthread_mutex_lock(&asking.lock);
    asking_join();
    pthread_mutex_unlock(&asking.lock);
}

/* Signals are the program's: none is delivered to the thread. The lock is held. 0: there is no thread. */
static int asking_begin(const unsigned char (*gpus)[16], int n)
{
    static int to_be_ended;
    sigset_t all, before;
    asking_join();
    memcpy(asking.gpus, gpus, (size_t)n * sizeof asking.gpus[0]);
    asking.n = n;
    if (!to_be_ended)
        to_be_ended = atexit(asking_at_exit) == 0;
    atomic_store_explicit(&asking.runs, 1, memory_order_relaxed);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&asking.thread, NULL, asking_run, NULL) == 0)
        asking.process = getpid();
    else
        atomic_store_explicit(&asking.runs, 0, memory_order_relaxed);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return asking.process != 0;
}

int tutti_cuda_nvlink_ready(const unsigned char (*gpus)[16], int n, int ask)
{
    int missing = 0;
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++)
            missing += !answer_find(gpus[a], gpus[b]) && driver_says(gpus[a], gpus[b]) < 0;
    }
    if (missing == 0 || n > ASKED_MOST || atomic_load_explicit(&nvlink.n, memory_order_relaxed) == ANSWERS_MOST)
        return 1;
    if (!ask)
        return 0;
    pthread_mutex_lock(&asking.lock);
    const int runs =
        asking.process == getpid() && atomic_load_explicit(&asking.runs, memory_order_acquire); /* not of the parent */
    const int waits = runs || asking_begin(gpus, n);
    pthread_mutex_unlock(&asking.lock);
    return !waits;
}

int tutti_cuda_nvlink(const unsigned char one[16], const unsigned char other[16])
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const int seen = driver_says(one, other);
    const struct answer *const answer = seen < 0 ? answer_find(one, other) : NULL;
    const int known = seen >= 0 ? seen : answer ? answer->joined : answer_get(one, other);
    if (known < 0 && !atomic_flag_test_and_set(&said))
        tutti_info(
            "the management library (libnvidia-ml.so.1) does not report whether NVLink joins the GPUs: algorithms "
            "that need it are left out, unless TUTTI_LINES=1");
    return known > 0;
}
