#include "device/cuda/gpu.h"

#include <stdlib.h>

#include "core/log.h"
#include "core/status.h"
#include "kernels/fatbin.h"

static _Atomic(struct tutti_cuda_context *) chosen[TUTTI_CUDA_GPUS];
static atomic_int highest = -1;        /* GPU that a context was ever chosen for */
static struct tutti_cuda_context *all; /* under choose_lock */
static pthread_mutex_t choose_lock = PTHREAD_MUTEX_INITIALIZER;

static void context_retire(struct tutti_cuda_context *context)
{
    struct tutti_cuda_context *expected = context;
    if (!atomic_exchange(&context->gone, 1)) {
        tutti_gpu_reset(context->gpu);
        tutti_info("the context of GPU %d has gone", context->gpu);
    }
    atomic_compare_exchange_strong(&chosen[context->gpu], &expected, NULL);
}

/* A context that the program destroyed has no id any more, and a primary context that was reset has another one. */
static int context_alive(struct tutti_cuda_context *context)
{
    unsigned long long id;
    if (atomic_load_explicit(&context->gone, memory_order_acquire))
        return 0;
    if (tutti_cuda.CtxGetId(context->handle, &id) == CUDA_SUCCESS && id == context->id)
        return 1;
    context_retire(context);
    return 0;
}

/* GPUs before compute capability 9.0 do not launch early, and drivers before 12.3 cannot capture such launches. */
static int starts_early(int gpu)
{
    CUdevice device;
    int version = 0, major = 0;
    return tutti_cuda.DriverGetVersion(&version) == CUDA_SUCCESS && version >= 12030 &&
           tutti_cuda.DeviceGet(&device, gpu) == CUDA_SUCCESS &&
           tutti_cuda.DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ==
               CUDA_SUCCESS &&
           major >= 9;
}

static int primary_active(CUdevice device)
{
    unsigned flags;
    int active = 0;
    return tutti_cuda.DevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

/* 1 if `handle` is the GPU's primary context, which Tutti now keeps alive too. Another
 * library may release it while its own streams exist: Intel MPI does so in MPI_Finalize. */
static int retain_primary(int gpu, CUcontext handle)
{
    CUdevice device;
    CUcontext primary = NULL;
    if (tutti_cuda.DeviceGet(&device, gpu) != CUDA_SUCCESS || !primary_active(device) ||
        tutti_cuda.DevicePrimaryCtxRetain(&primary, device) != CUDA_SUCCESS)
        return 0;
    if (primary == handle)
        return 1;
    tutti_cuda.DevicePrimaryCtxRelease(device);
    return 0;
}

/* MET: a context of the program. RETAINED: the primary context, which the program has made. MADE: the primary context,
 * which Tutti has made. */
enum origin { MET, RETAINED, MADE };

/* Under choose_lock. */
static struct tutti_cuda_context *gpu_keep(int gpu, CUcontext handle, enum origin origin)
{
    static int said;
    unsigned long long id;
    if (tutti_cuda.CtxGetId(handle, &id) != CUDA_SUCCESS)
        return NULL;
    if (!tutti_fatbin_optimized() && !said++)
        tutti_warn(
            "the CUDA kernels of this library are not optimised: they are for tests; `make` compiles those to use");
    struct tutti_cuda_context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->handle = handle;
    context->id = id;
    context->gpu = gpu;
    context->retained = origin != MET || retain_primary(gpu, handle);
    atomic_init(&context->early, starts_early(gpu));
    pthread_mutex_init(&context->lock, NULL);
    pthread_mutex_init(&context->spare_lock, NULL);
    context->older = all;
    all = context;
    atomic_store_explicit(&chosen[gpu], context, memory_order_release);
    if (gpu > atomic_load(&highest))
        atomic_store(&highest, gpu);
    tutti_cuda_complete_begin(context, origin == MADE);
    return context;
}

struct tutti_cuda_context *tutti_cuda_context_of(int gpu)
{
    return gpu >= 0 && gpu < TUTTI_CUDA_GPUS ? atomic_load_explicit(&chosen[gpu], memory_order_acquire) : NULL;
}

int tutti_cuda_has_context(int gpu)
{
    return tutti_cuda_context_of(gpu) != NULL;
}

void tutti_cuda_look(void)
{
    const int last = atomic_load_explicit(&highest, memory_order_relaxed);
    for (int gpu = 0; gpu <= last; gpu++) {
        struct tutti_cuda_context *context = atomic_load_explicit(&chosen[gpu], memory_order_acquire);
        if (context)
            context_alive(context);
    }
}

int tutti_cuda_works_in(int gpu, CUcontext handle)
{
    const struct tutti_cuda_context *context =
        gpu >= 0 && gpu < TUTTI_CUDA_GPUS ? atomic_load_explicit(&chosen[gpu], memory_order_acquire) : NULL;
    return context && context->handle == handle;
}

void tutti_cuda_adopt(int gpu, CUcontext handle)
{
    if (gpu < 0 || gpu >= TUTTI_CUDA_GPUS || !handle)
        return;
    pthread_mutex_lock(&choose_lock);
    const int first = !tutti_cuda_has_context(gpu);
    if (first)
        gpu_keep(gpu, handle, MET);
    pthread_mutex_unlock(&choose_lock);
    if (!first)
        tutti_cuda_complete_beside(gpu, handle);
}

int tutti_cuda_count(void)
{
    int count = 0;
    if (!tutti_cuda_ready() || tutti_cuda.DeviceGetCount(&count) != CUDA_SUCCESS)
        return 0;
    return count < TUTTI_CUDA_GPUS ? count : TUTTI_CUDA_GPUS;
}

static CUcontext current_context(void)
{
    CUcontext now = NULL;
    return tutti_cuda.CtxGetCurrent(&now) == CUDA_SUCCESS ? now : NULL;
}

/* The calling thread's context, and its GPU (-1: none). */
static CUcontext current_with_gpu(int *gpu)
{
    CUdevice device;
    CUcontext now = current_context();
    int known = now && tutti_cuda.CtxGetDevice(&device) == CUDA_SUCCESS;
    *gpu = known ? (int)device : -1;
    return now;
}

int tutti_cuda_current(void)
{
    int gpu;
    current_with_gpu(&gpu);
    return gpu;
}

int tutti_cuda_any(void)
{
    int gpu = tutti_cuda_current();
    for (int g = 0; gpu < 0 && g < TUTTI_CUDA_GPUS; g++) {
        if (tutti_cuda_has_context(g))
            gpu = g;
    }
    return gpu < 0 ? 0 : gpu;
}

static int gpu_choose(int gpu, int make, struct tutti_cuda_context **out)
{
    int status = TUTTI_OK, now_gpu;
    CUcontext now = current_with_gpu(&now_gpu);
    pthread_mutex_lock(&choose_lock);
    struct tutti_cuda_context *context = atomic_load(&chosen[gpu]);
    if (!context && now_gpu == gpu)
        context = gpu_keep(gpu, now, MET);
    if (!context && make) {
        CUdevice device;
        CUcontext primary = NULL;
        CUresult result = tutti_cuda.DeviceGet(&device, gpu);
        const enum origin origin = result == CUDA_SUCCESS && !primary_active(device) ? MADE : RETAINED;
        if (result == CUDA_SUCCESS)
            result = tutti_cuda.DevicePrimaryCtxRetain(&primary, device);
        if (result != CUDA_SUCCESS) {
            status = tutti_cuda_failed(result, "making a context", gpu);
        } else if (!(context = gpu_keep(gpu, primary, origin))) {
            tutti_cuda.DevicePrimaryCtxRelease(device);
        }
    }
    pthread_mutex_unlock(&choose_lock);
    if (!context && status == TUTTI_OK) {
        tutti_error("GPU %d has no context in which to work: the program has reset the GPU, or is ending", gpu);
        status = TUTTI_ERR_DEVICE;
    }
    if (context)
        *out = context;
    return status;
}

/* The context is alive, so far as is known. */
static int enter_alive(struct tutti_cuda_context *context, struct tutti_cuda_scope *scope)
{
    scope->context = context;
    scope->pushed = 0;
    if (current_context() == context->handle)
        return TUTTI_OK;
    CUresult result = tutti_cuda.CtxPushCurrent(context->handle);
    if (result != CUDA_SUCCESS)
        return tutti_cuda_check(result, "entering the context", context);
    scope->pushed = 1;
    return TUTTI_OK;
}

int tutti_cuda_enter_context(struct tutti_cuda_context *context, struct tutti_cuda_scope *scope)
{
    return tutti_cuda_ready() && context_alive(context) ? enter_alive(context, scope) : TUTTI_ERR_DEVICE;
}

int tutti_cuda_enter_seen(struct tutti_cuda_context *context, struct tutti_cuda_scope *scope)
{
    return tutti_cuda_ready() && !atomic_load_explicit(&context->gone, memory_order_acquire)
               ? enter_alive(context, scope)
               : TUTTI_ERR_DEVICE;
}

int tutti_cuda_enter_found(int gpu, struct tutti_cuda_scope *scope)
{
    struct tutti_cuda_context *const context =
        gpu >= 0 && gpu < TUTTI_CUDA_GPUS ? atomic_load_explicit(&chosen[gpu], memory_order_acquire) : NULL;
    return context && tutti_cuda_enter_seen(context, scope) == TUTTI_OK ? TUTTI_OK : tutti_cuda_enter(gpu, 1, scope);
}

int tutti_cuda_enter(int gpu, int make, struct tutti_cuda_scope *scope)
{
    if (!tutti_cuda_ready())
        return TUTTI_ERR_UNAVAILABLE;
    if (gpu < 0 || gpu >= TUTTI_CUDA_GPUS)
        return TUTTI_ERR_ARGUMENT;
    /* A second round if the context chosen before no longer exists. */
    int status = TUTTI_ERR_DEVICE;
    for (int round = 0; round < 2 && status != TUTTI_OK; round++) {
        struct tutti_cuda_context *context = atomic_load_explicit(&chosen[gpu], memory_order_acquire);
        if (!context) {
            status = gpu_choose(gpu, make, &context);
            if (status != TUTTI_OK)
                return status;
        }
        status = tutti_cuda_enter_context(context, scope);
    }
    return status;
}

void tutti_cuda_leave(struct tutti_cuda_scope *scope)
{
    CUcontext popped;
    if (scope->pushed && tutti_cuda.CtxPopCurrent(&popped) != CUDA_SUCCESS)
        context_retire(scope->context);
    scope->pushed = 0;
}

int tutti_cuda_check(CUresult result, const char *what, struct tutti_cuda_context *context)
{
    if (result == CUDA_SUCCESS)
        return TUTTI_OK;
    if (tutti_cuda_gone(result))
        context_retire(context);
    return tutti_cuda_failed(result, what, context->gpu);
}

int tutti_cuda_check_free(CUresult result, const char *what, struct tutti_cuda_context *context)
{
    if (tutti_cuda_gone(result)) {
        context_retire(context);
        return TUTTI_OK;
    }
    return tutti_cuda_check(result, what, context);
}

static int load_module(struct tutti_cuda_context *context, int image)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&context->lock);
    if (!context->module[image]) {
        CUmodule module;
        CUstreamCaptureMode mode = tutti_cuda_relax();
        CUresult result = tutti_cuda.ModuleLoadData(&module, tutti_fatbin(image).data);
        tutti_cuda_unrelax(mode);
        status = tutti_cuda_check(result, "loading the kernels", context);
        if (status == TUTTI_OK)
            context->module[image] = module;
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}

int tutti_cuda_function(struct tutti_cuda_context *context, int kernel, int type, int op, CUfunction *out)
{
    if (kernel < 0 || kernel >= TUTTI_KERNELS || !tutti_has_kernel(type, op))
        return TUTTI_ERR_ARGUMENT;
    type = tutti_kernel_type(type, op);
    CUfunction function = atomic_load_explicit(&context->function[kernel][type][op], memory_order_acquire);
    if (!function) {
        char name[TUTTI_FATBIN_NAME];
        int image = tutti_fatbin_kernel(kernel, type, op, name);
        if (image < 0)
            return TUTTI_ERR_UNAVAILABLE;
        int status = load_module(context, image);
        if (status != TUTTI_OK)
            return status;
        int made_for = 0, registers; /* asking for these loads the code, which the driver may put off otherwise */
        CUstreamCaptureMode mode = tutti_cuda_relax();
        CUresult result = tutti_cuda.ModuleGetFunction(&function, context->module[image], name);
        if (result == CUDA_SUCCESS)
            result = tutti_cuda.FuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
        if (result == CUDA_SUCCESS)
            result = tutti_cuda.FuncGetAttribute(&made_for, CU_FUNC_ATTRIBUTE_PTX_VERSION, function);
        tutti_cuda_unrelax(mode);
        status = tutti_cuda_check(result, name, context);
        if (status != TUTTI_OK)
            return status;
        if (made_for < 90) /* a build for older GPUs, whose kernels do not wait by themselves */
            atomic_store_explicit(&context->early, 0, memory_order_relaxed);
        atomic_store_explicit(&context->function[kernel][type][op], function, memory_order_release);
    }
    *out = function;
    return TUTTI_OK;
}

int tutti_cuda_lacks(int gpu, int kernel, int type, int op)
{
    char name[TUTTI_FATBIN_NAME];
    struct tutti_cuda_context *context =
        gpu >= 0 && gpu < TUTTI_CUDA_GPUS ? atomic_load_explicit(&chosen[gpu], memory_order_acquire) : NULL;
    const int image =
        tutti_has_kernel(type, op) ? tutti_fatbin_kernel(kernel, tutti_kernel_type(type, op), op, name) : -1;
    if (!context || image < 0)
        return image >= 0;
    pthread_mutex_lock(&context->lock);
    const int lacks = !context->module[image];
    pthread_mutex_unlock(&context->lock);
    return lacks;
}

static void gpu_unload(struct tutti_cuda_context *context, CUmodule *module)
{
    if (*module)
        tutti_cuda_check_free(tutti_cuda.ModuleUnload(*module), "unloading the kernels", context);
    *module = NULL;
}

void tutti_cuda_contexts_close(void (*before)(struct tutti_cuda_context *context))
{
    pthread_mutex_lock(&choose_lock);
    for (struct tutti_cuda_context *context = all; context; context = context->older) {
        struct tutti_cuda_scope scope;
        CUdevice device;
        if (atomic_load(&context->gone) || tutti_cuda_enter_context(context, &scope) != TUTTI_OK)
            continue;
        before(context);
        for (int i = 0; i < TUTTI_FATBINS; i++)
            gpu_unload(context, &context->module[i]);
        for (int i = 0; i < TUTTI_CUDA_PACK_IMAGES; i++)
            gpu_unload(context, &context->pack_module[i]);
        gpu_unload(context, &context->shmem_module);
        gpu_unload(context, &context->meet_module);
        gpu_unload(context, &context->lane_module);
        void *const words = (void *)(uintptr_t)atomic_exchange(&context->words, NULL); /* no copy is under way */
        if (words)
            tutti_cuda_check_free(tutti_cuda.MemFreeHost(words), "freeing pinned host memory", context);
        CUstream beside = atomic_exchange(&context->beside, NULL);
        if (beside)
            tutti_cuda_check_free(tutti_cuda.StreamDestroy(beside), "destroying a stream", context);
        tutti_cuda_leave(&scope);
        if (context->retained && tutti_cuda.DeviceGet(&device, context->gpu) == CUDA_SUCCESS)
            tutti_cuda.DevicePrimaryCtxRelease(device);
        context_retire(context);
    }
    pthread_mutex_unlock(&choose_lock);
}
