/* A pretended libcuda.so.1 of two GPUs over host memory: enough of the driver for the CUDA device's own logic, not for
 * kernels. Used by tests alone. FAKE_OLD leaves an entry point out, as an old driver would. */
#include "fake_state.h"

#include <stdio.h>
#include <string.h>

#include "kernels/pack_args.h"

struct CUctx_st fake_primary[GPUS] = {{.gpu = 0}, {.gpu = 1}};
_Thread_local CUcontext fake_stack[16];
_Thread_local int fake_depth;
_Thread_local int fake_relaxed;
unsigned long long fake_ids = 1;
int fake_initialised, fake_objects;

int fake_call(const char *name)
{
    fake_state.calls++;
    if (fake_state.calls != fake_state.fail_at && !(fake_state.fail_all && strcmp(name, fake_state.fail_all) == 0))
        return 0;
    fake_state.failed = name;
    return fake_state.fail_with;
}

int fake_is_default(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

int fake_stream_valid(CUstream stream)
{
    return fake_is_default(stream) || (stream->context->alive && stream->id == stream->context->id);
}

/* --- what tests ask for --- */
static void *make(int gpu, enum fake_kind kind, size_t bytes)
{
    fake_initialised = 1;
    fake_primary[gpu].alive = 1;
    if (!fake_primary[gpu].id)
        fake_primary[gpu].id = fake_ids++;
    return fake_create(gpu, kind, bytes)->base;
}

static struct CUctx_st own_contexts[4]; /* alive at a time, at most */
static void *make_context(int gpu)
{
    CUcontext context = own_contexts;
    while (context->alive) /* handles come again */
        context++;
    *context = (struct CUctx_st){.gpu = gpu, .alive = 1, .flags = CU_CTX_MAP_HOST, .id = fake_ids++};
    return context;
}
static void end_context(void *context)
{
    ((CUcontext)context)->alive = 0;
}
static void *make_in(void *context, size_t bytes)
{
    struct memory *memory = fake_create(((CUcontext)context)->gpu, FAKE_MALLOC, bytes);
    memory->made_in = context;
    return memory->base;
}
static unsigned flags_of(const void *context)
{
    return ((const struct CUctx_st *)context)->flags;
}

static void reset(int gpu)
{
    fake_primary[gpu].alive = 0;
    fake_primary[gpu].id = 0;
    fake_primary[gpu].retained = 0;
    for (int i = 0; i < ROOM; i++) {
        if (fake_memories[i].base && fake_memories[i].gpu == gpu)
            fake_drop(&fake_memories[i]);
    }
}

static unsigned context_flags(int gpu)
{
    return fake_primary[gpu].flags;
}
static void current(int gpu)
{
    fake_depth = gpu < 0 ? 0 : 1;
    fake_stack[0] = gpu < 0 ? NULL : &fake_primary[gpu];
    if (gpu >= 0 && !fake_primary[gpu].alive) {
        fake_primary[gpu].alive = 1;
        fake_primary[gpu].id = fake_ids++;
        fake_primary[gpu].flags = CU_CTX_MAP_HOST;
        fake_primary[gpu].retained = 1;
    }
}

static int release(int gpu)
{
    if (--fake_primary[gpu].retained == 0)
        fake_primary[gpu].alive = 0;
    return fake_primary[gpu].retained;
}

static int live(void)
{
    int count = fake_objects;
    for (int i = 0; i < ROOM; i++)
        count += fake_memories[i].base != NULL;
    return count;
}

struct fake_control fake_state = {.driver = 13000,
                                  .major = 9,
                                  .made_for = 90,
                                  .make_stream = fake_make_stream,
                                  .make = make,
                                  .reset = reset,
                                  .current = current,
                                  .make_context = make_context,
                                  .end_context = end_context,
                                  .make_in = make_in,
                                  .flags_of = flags_of,
                                  .release = release,
                                  .flags = context_flags,
                                  .live = live};
EXPORT struct fake_control *fake_control(void);
struct fake_control *fake_control(void)
{
    return &fake_state;
}

/* --- devices and contexts --- */
EXPORT CUresult cuInit(unsigned flags)
{
    int injected = fake_call(__func__);
    (void)flags;
    if (!injected)
        fake_initialised = 1;
    return (CUresult)injected;
}
EXPORT CUresult cuDriverGetVersion(int *version)
{
    *version = fake_state.driver;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "FAKE_ERROR_%d", (int)error);
    *name = text;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetCount(int *count)
{
    ENTER();
    *count = fake_state.hide_gpu ? 1 : GPUS;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER();
    if (ordinal < 0 || ordinal >= GPUS)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    ENTER();
    snprintf(name, (size_t)size, "Pretended GPU %d", device);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    ENTER();
    (void)device;
    enum { MPS_ENABLED = 133 };
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 132
             : attribute == (CUdevice_attribute)MPS_ENABLED        ? !fake_state.no_mps
                                                                   : fake_state.major;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device)
{
    ENTER();
    snprintf(text, (size_t)size, "0000:0%d:00.0", device);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    ENTER();
    memset(uuid->bytes, 0x40 + device, sizeof uuid->bytes);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    ENTER();
    (void)device;
    *bytes = (size_t)1 << 30;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer)
{
    enum { ONLY_PARTIAL_ATOMICS = 5 }; /* which drivers before CUDA 13 do not know */
    *value =
        device != peer && ((int)attribute == ONLY_PARTIAL_ATOMICS ? fake_state.some_atomics : !fake_state.no_atomics);
    return attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED ||
                   ((int)attribute == ONLY_PARTIAL_ATOMICS && fake_state.tells_atomics)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    ENTER();
    *can = device != peer;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER();
    *context = &fake_primary[device];
    if (!fake_primary[device].alive) {
        fake_primary[device].id = fake_ids++;
        fake_primary[device].flags = CU_CTX_MAP_HOST;
    }
    fake_primary[device].alive = 1;
    fake_primary[device].retained++;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTER();
    release(device);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    ENTER();
    *flags = 0;
    *active = fake_primary[device].alive;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    ENTER();
    *context = fake_depth ? fake_stack[fake_depth - 1] : NULL;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    ENTER();
    fake_depth = fake_depth ? fake_depth : 1;
    fake_stack[fake_depth - 1] = context;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    ENTER();
    if (fake_depth == 16)
        return CUDA_ERROR_INVALID_VALUE;
    fake_stack[fake_depth++] = context;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    ENTER();
    if (!fake_depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = fake_stack[--fake_depth];
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    CONTEXT();
    *device = fake_stack[fake_depth - 1]->gpu;
    return CUDA_SUCCESS;
}
#ifndef FAKE_OLD
EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    ENTER();
    if (!context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = context->id;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxSetFlags(unsigned flags)
{
    CONTEXT();
    fake_stack[fake_depth - 1]->flags = flags;
    return CUDA_SUCCESS;
}
#endif
EXPORT CUresult cuCtxGetFlags(unsigned *flags)
{
    CONTEXT();
    *flags = fake_stack[fake_depth - 1]->flags;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    CONTEXT();
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    CONTEXT();
    (void)flags;
    return peer == fake_stack[fake_depth - 1] ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

/* --- kernels --- */
EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    UNSAFE();
    fake_objects++;
    *module = (CUmodule)image;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleUnload(CUmodule module)
{
    CONTEXT();
    fake_objects -= module != NULL;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    static char names[2048][96];
    CONTEXT();
    for (int i = 0; module && i < 2048; i++) {
        if (!names[i][0])
            snprintf(names[i], sizeof names[i], "%s", name);
        if (strcmp(names[i], name) == 0) {
            *function = (CUfunction)names[i];
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}
EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    CONTEXT();
    *value = attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION ? fake_state.made_for : 32;
    return function && (attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION || attribute == CU_FUNC_ATTRIBUTE_NUM_REGS)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}
/* Bytes of the parameter of a kernel; 0: not told. */
static size_t room_of(CUfunction function)
{
    const char *name = (const char *)function;
    return strcmp(name, "tutti_pack_few") == 0    ? TUTTI_PACK_FEW_BYTES
           : strcmp(name, "tutti_pack_some") == 0 ? TUTTI_PACK_SOME_BYTES
           : strcmp(name, "tutti_pack_many") == 0 ? TUTTI_PACK_MANY_BYTES
           : strcmp(name, "tutti_pack_stay") == 0 ? sizeof(struct tutti_pack_stay_args)
                                                  : 0;
}

/* The driver copies the whole parameter, whatever the caller has filled of it. */
static size_t read_all(const void *parameter, size_t bytes)
{
    static unsigned char copy[TUTTI_PACK_MANY_BYTES];
    memcpy(copy, parameter, bytes);
    return bytes;
}

/* Those of sums and products, and kernels of no pair, have no second parameter. */
int fake_kernel_has_sense(const char *name)
{
    const char *family = strrchr(name, '_');
    return family && family[1] >= 'A' && family[1] <= 'Z' && strncmp(name, "tutti_pack", 10) != 0 &&
           strncmp(name, "tutti_shmem", 11) != 0 && strcmp(family, "_SUM") != 0 && strcmp(family, "_PROD") != 0;
}
EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty,
                               unsigned tz, unsigned shared, CUstream stream, void **parameters, void **extra)
{
    CONTEXT();
    if (y != 1 || z != 1 || ty < 1 || ty > 2 || tz != 1 || shared || extra || !fake_stream_valid(stream) ||
        (!fake_is_default(stream) && stream->context != fake_stack[fake_depth - 1]))
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_used(stream) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    fake_state.stream = stream;
    fake_state.early = 0;
    snprintf(fake_state.launched, sizeof fake_state.launched, "%s", (const char *)function);
    fake_state.blocks = x;
    fake_state.threads = tx;
    fake_state.rows = ty;
    memcpy(fake_state.arguments, parameters[0], sizeof fake_state.arguments);
    fake_state.read = read_all(parameters[0], room_of(function));
    if (fake_kernel_has_sense(fake_state.launched))
        memcpy(fake_state.sense, parameters[1], sizeof fake_state.sense);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    CUresult result = cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                                     config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                                     parameters, extra);
    for (unsigned i = 0; i < config->numAttrs; i++)
        fake_state.early |= config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                            config->attrs[i].value.programmaticStreamSerializationAllowed;
    return result;
}
