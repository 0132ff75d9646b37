#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"

struct tutti_cuda_driver tutti_cuda;
static const uintptr_t unsure = 1, never = 0;
struct tutti_device_sign tutti_cuda_sign = {&unsure};

enum { UNKNOWN, READY, UNUSABLE, FORKED };
static atomic_int state;
static pthread_mutex_t publish_lock = PTHREAD_MUTEX_INITIALIZER;

/* The object that was the last of the process when libcuda was last looked for. New objects are appended to the list,
 * so nothing was loaded since while it has no successor. It is pinned, so that reading its successor is safe forever.
 */
static _Atomic(struct link_map *) mark;
/* Loads of the process up to then: decides where the last object could not be pinned. */
static atomic_ullong seen_loads;

/* The child of a process that used CUDA cannot use it, and must not touch what the parent holds. */
static void forget_in_child(void)
{
    atomic_store(&state, FORKED);
    atomic_store(&tutti_cuda_sign.at, &never);
}

struct walk {
    unsigned long long loads;
    int count;
    char last[PATH_MAX];
    char cuda[PATH_MAX];
};

static int driver_visit_object(struct dl_phdr_info *info, size_t size, void *with)
{
    struct walk *walk = with;
    (void)size;
    if (walk->count++ == 0) {
        walk->loads = info->dlpi_adds;
        if (walk->loads == atomic_load_explicit(&seen_loads, memory_order_relaxed))
            return 1;
    }
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    if (strlen(name) >= PATH_MAX)
        return 0;
    strcpy(walk->last, name);
    if (strncmp(base, "libcuda.so", 10) == 0 && (base[10] == '\0' || base[10] == '.'))
        strcpy(walk->cuda, name);
    return 0;
}

/* Keeps the object that is the last of the list, and remembers it. Where that fails the count of loads decides. */
static void move_mark(const char *name)
{
    struct link_map *map = NULL;
    void *handle = dlopen(name[0] ? name : NULL, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (!handle)
        return;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) {
        atomic_store_explicit(&mark, map, memory_order_release);
        /* A thread that finds libcuda meanwhile has loaded it behind this object, or another thread has. */
        atomic_store_explicit(&tutti_cuda_sign.at, (const uintptr_t *)&map->l_next, memory_order_release);
    }
    dlclose(handle); /* it stays: RTLD_NODELETE */
}

static int driver_resolve(void *library, char *why, size_t size)
{
    struct tutti_cuda_driver found;
    const char *missing = NULL;
#define TUTTI_CUDA_ENTRY(field, symbol)                                                                                \
    do {                                                                                                               \
        void *entry = dlsym(library, #symbol);                                                                         \
        memcpy(&found.field, &entry, sizeof entry);                                                                    \
        if (!entry && !missing)                                                                                        \
            missing = #symbol;                                                                                         \
    } while (0);
#define TUTTI_CUDA_OPTIONAL(field, symbol)                                                                             \
    do {                                                                                                               \
        void *entry = dlsym(library, #symbol);                                                                         \
        memcpy(&found.field, &entry, sizeof entry);                                                                    \
    } while (0);
#include "device/cuda/driver.def"
#undef TUTTI_CUDA_ENTRY
    pthread_mutex_lock(&publish_lock);
    int now = atomic_load(&state);
    if (now == UNKNOWN) {
        if (missing) {
            tutti_warn("libcuda.so.1 has no %s: memory of the GPU is not recognised. A driver of CUDA 12.0 (525) or "
                       "later is needed",
                       missing);
            now = UNUSABLE;
        } else {
            tutti_cuda = found;
            now = pthread_atfork(NULL, NULL, forget_in_child) == 0 ? READY : UNUSABLE;
        }
        atomic_store_explicit(&state, now, memory_order_release);
        atomic_store(&tutti_cuda_sign.at, now == READY ? &unsure : &never);
    }
    pthread_mutex_unlock(&publish_lock);
    if (now == READY)
        return TUTTI_OK;
    snprintf(why, size, "libcuda.so.1 lacks %s: a driver of CUDA 12.0 (525) or later is needed",
             missing ? missing : "what is needed");
    return TUTTI_ERR_UNAVAILABLE;
}

/* The list of objects has changed (or was never looked at). No lock is held while the dynamic linker is called, and
 * threads that get here together do the same work twice, without harm. */
static int driver_look(void)
{
    struct walk walk = {.count = 0};
    char why[256];
    dl_iterate_phdr(driver_visit_object, &walk);
    if (!walk.loads || walk.loads != atomic_load_explicit(&seen_loads, memory_order_relaxed)) {
        void *library = walk.cuda[0] ? dlopen(walk.cuda, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) : NULL;
        if (library)
            return driver_resolve(library, why, sizeof why) == TUTTI_OK;
        move_mark(walk.last);
        atomic_store_explicit(&seen_loads, walk.loads, memory_order_relaxed);
    }
    return 0;
}

int tutti_cuda_ready(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == READY;
}

int tutti_cuda_active(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now != UNKNOWN)
        return now == READY;
    struct link_map *last = atomic_load_explicit(&mark, memory_order_acquire);
    if (last && !__atomic_load_n(&last->l_next, __ATOMIC_ACQUIRE))
        return 0;
    return driver_look();
}

int tutti_cuda_load(char *why, size_t size)
{
    int now = atomic_load(&state);
    if (now == READY)
        return TUTTI_OK;
    if (now == FORKED) {
        snprintf(why, size, "CUDA cannot be used in a process forked from one that uses it");
        return TUTTI_ERR_UNAVAILABLE;
    }
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NODELETE);
    if (!library) {
        const char *text = dlerror();
        snprintf(why, size, "the CUDA driver cannot be loaded (%s): install the NVIDIA driver",
                 text ? text : "unknown");
        return TUTTI_ERR_UNAVAILABLE;
    }
    return driver_resolve(library, why, size);
}

const char *tutti_cuda_error_name(CUresult result)
{
    const char *name = NULL;
    if (!tutti_cuda_ready() || tutti_cuda.GetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "an error unknown to this driver";
    return name;
}

int tutti_cuda_gone(CUresult result)
{
    return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_NOT_INITIALIZED ||
           result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static const char *error_advice(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return "free memory of the GPU, or lower TUTTI_WINDOW_MB and TUTTI_CHANNEL_MB; for a context under MPS unset "
               "CUDA_DEVICE_MAX_CONNECTIONS";
    case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED:
        return "the processes of a GPU share its queues under MPS: unset CUDA_DEVICE_MAX_CONNECTIONS";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
        return "the driver is older than the compiler of the kernels: update the driver, or build with an older nvcc";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ASSERT:
        return "a kernel has failed, of the program or of Tutti, and the GPU is lost to this process: run under "
               "compute-sanitizer to find it";
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
        return "the program has reset the GPU or is ending: keep it until MPI_Finalize";
    case CUDA_ERROR_NOT_INITIALIZED:
        return "the program has not begun to use CUDA";
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
        return "was the memory freed, or the GPU reset, before the call was complete?";
    case CUDA_ERROR_MAP_FAILED:
    case CUDA_ERROR_ALREADY_MAPPED:
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
    case CUDA_ERROR_INVALID_DEVICE:
        return "this memory of a peer cannot be reached from here: `tutti info` says which GPUs reach each other";
    case CUDA_ERROR_ECC_UNCORRECTABLE:
        return "the GPU's memory is damaged: see nvidia-smi -q";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_SYSTEM_NOT_READY:
        return "the driver is not in order: see nvidia-smi";
    case CUDA_ERROR_NO_DEVICE:
        return "no GPU is visible: look at CUDA_VISIBLE_DEVICES and nvidia-smi";
    default:
        return "see nvidia-smi, and dmesg for Xid messages";
    }
}

static int driver_status_of(CUresult result)
{
    return result == CUDA_ERROR_OUT_OF_MEMORY ? TUTTI_ERR_MEMORY : TUTTI_ERR_DEVICE;
}

int tutti_cuda_failed(CUresult result, const char *what, int gpu)
{
    char where[32] = "";
    if (gpu >= 0)
        snprintf(where, sizeof where, " on GPU %d", gpu);
    tutti_error("%s%s failed: %s (%d); %s", what, where, tutti_cuda_error_name(result), (int)result,
                error_advice(result));
    return driver_status_of(result);
}

int tutti_cuda_declined(CUresult result, const char *what, int gpu)
{
    tutti_info("%s on GPU %d is not possible: %s (%d)", what, gpu, tutti_cuda_error_name(result), (int)result);
    return driver_status_of(result);
}
