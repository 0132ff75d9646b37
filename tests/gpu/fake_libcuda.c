/* A pretended libcuda.so.1 of two GPUs over host memory: enough of the driver for the CUDA device's own logic, not for
 * kernels. Used by tests alone. FAKE_OLD leaves an entry point out, as an old driver would. */
#include "fake_libcuda.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { GPUS = 2, ROOM = 256, PAGE = 4096, OBJECT_FD = 100 };

struct CUctx_st {
    int gpu, alive, retained;
    unsigned long long id;
};
struct CUstream_st {
    CUcontext context;
    unsigned long long id;
};
struct memory {
    char *base;
    size_t bytes;
    unsigned long long id;
    int gpu, fd;
    enum fake_kind kind;
    int registered, mapped;
};

static struct CUctx_st primary[GPUS] = {{.gpu = 0}, {.gpu = 1}};
static _Thread_local CUcontext stack[16];
static _Thread_local int depth;
static struct memory memories[ROOM];
static unsigned long long ids = 1;
static int initialised, objects;
static struct fake_control control;

static int call(const char *name)
{
    control.calls++;
    if (control.calls != control.fail_at)
        return 0;
    control.failed = name;
    return control.fail_with;
}

#define ENTER()                                                                                                        \
    do {                                                                                                               \
        int injected = call(__func__);                                                                                 \
        if (injected)                                                                                                  \
            return (CUresult)injected;                                                                                 \
        if (!initialised)                                                                                              \
            return CUDA_ERROR_NOT_INITIALIZED;                                                                         \
    } while (0)
#define CONTEXT()                                                                                                      \
    do {                                                                                                               \
        ENTER();                                                                                                       \
        if (!depth || !stack[depth - 1])                                                                               \
            return CUDA_ERROR_INVALID_CONTEXT;                                                                         \
        if (!stack[depth - 1]->alive)                                                                                  \
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;                                                                    \
    } while (0)

static struct memory *find(CUdeviceptr pointer)
{
    for (int i = 0; i < ROOM; i++) {
        if (memories[i].base && (char *)pointer >= memories[i].base &&
            (char *)pointer < memories[i].base + memories[i].bytes)
            return &memories[i];
    }
    return NULL;
}

static struct memory *add(int gpu, enum fake_kind kind, size_t bytes, int fd, void *at)
{
    for (int i = 0; i < ROOM; i++) {
        if (memories[i].base)
            continue;
        bytes = (bytes + PAGE - 1) / PAGE * PAGE;
        char *base = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
        if (base == MAP_FAILED)
            return NULL;
        memories[i] = (struct memory){.base = base, .bytes = bytes, .id = ids++, .gpu = gpu, .fd = fd, .kind = kind};
        return &memories[i];
    }
    return NULL;
}

static struct memory *create(int gpu, enum fake_kind kind, size_t bytes)
{
    int fd = memfd_create("fake", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)((bytes + PAGE - 1) / PAGE * PAGE)) != 0)
        return NULL;
    return add(gpu, kind, bytes, fd, NULL);
}

static void drop(struct memory *memory)
{
    if (!memory->registered) {
        munmap(memory->base, memory->bytes);
        close(memory->fd);
    }
    memory->base = NULL;
}

/* --- what tests ask for --- */
static void *make(int gpu, enum fake_kind kind, size_t bytes)
{
    initialised = 1;
    primary[gpu].alive = 1;
    if (!primary[gpu].id)
        primary[gpu].id = ids++;
    return create(gpu, kind, bytes)->base;
}

static void reset(int gpu)
{
    primary[gpu].alive = 0;
    primary[gpu].id = 0;
    for (int i = 0; i < ROOM; i++) {
        if (memories[i].base && memories[i].gpu == gpu)
            drop(&memories[i]);
    }
}

static void current(int gpu)
{
    depth = gpu < 0 ? 0 : 1;
    stack[0] = gpu < 0 ? NULL : &primary[gpu];
    if (gpu >= 0 && !primary[gpu].alive) {
        primary[gpu].alive = 1;
        primary[gpu].id = ids++;
    }
}

static int live(void)
{
    int count = objects;
    for (int i = 0; i < ROOM; i++)
        count += memories[i].base != NULL;
    return count;
}

static struct fake_control control = {.make = make, .reset = reset, .current = current, .live = live};
EXPORT struct fake_control *fake_control(void);
struct fake_control *fake_control(void)
{
    return &control;
}

/* --- devices and contexts --- */
EXPORT CUresult cuInit(unsigned flags)
{
    int injected = call(__func__);
    (void)flags;
    if (!injected)
        initialised = 1;
    return (CUresult)injected;
}
EXPORT CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
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
    *count = control.hide_gpu ? 1 : GPUS;
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
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 132 : 9;
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
EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    ENTER();
    *can = device != peer;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER();
    *context = &primary[device];
    if (!primary[device].alive)
        primary[device].id = ids++;
    primary[device].alive = 1;
    primary[device].retained++;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTER();
    primary[device].retained--;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    ENTER();
    *context = depth ? stack[depth - 1] : NULL;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    ENTER();
    depth = depth ? depth : 1;
    stack[depth - 1] = context;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    ENTER();
    if (depth == 16)
        return CUDA_ERROR_INVALID_VALUE;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    ENTER();
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack[--depth];
    return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    CONTEXT();
    *device = stack[depth - 1]->gpu;
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
#endif
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
    return peer == stack[depth - 1] ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

/* --- kernels --- */
EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    CONTEXT();
    objects++;
    *module = (CUmodule)image;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleUnload(CUmodule module)
{
    CONTEXT();
    objects -= module != NULL;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    static char names[64][96];
    CONTEXT();
    for (int i = 0; module && i < 64; i++) {
        if (!names[i][0])
            snprintf(names[i], sizeof names[i], "%s", name);
        if (strcmp(names[i], name) == 0) {
            *function = (CUfunction)names[i];
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}
EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty,
                               unsigned tz, unsigned shared, CUstream stream, void **parameters, void **extra)
{
    CONTEXT();
    if (y != 1 || z != 1 || ty != 1 || tz != 1 || shared || extra || stream->context != stack[depth - 1] ||
        stream->id != stream->context->id)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(control.launched, sizeof control.launched, "%s", (const char *)function);
    control.blocks = x;
    control.threads = tx;
    memcpy(control.arguments, parameters[0], sizeof control.arguments);
    return CUDA_SUCCESS;
}

/* --- memory --- */
static void answer(CUpointer_attribute attribute, void *to, const struct memory *m)
{
    int device = m && m->kind != FAKE_PINNED && m->kind != FAKE_MANAGED;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)to = m && (m->kind == FAKE_MALLOC || m->kind == FAKE_PINNED) ? &primary[m->gpu] : NULL;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)to = !m ? 0 : m->kind == FAKE_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)to = m && m->kind == FAKE_MANAGED;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)to = m ? m->gpu : -2;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)to = m ? m->id : 0;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case 19: /* start of the mapping */
        *(CUdeviceptr *)to = m ? (CUdeviceptr)m->base : 0;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case 18: /* size of the mapping */
        *(size_t *)to = m ? m->bytes : 0;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)to = m && m->kind == FAKE_MALLOC;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)to =
            m && (m->kind == FAKE_POOL || m->kind == FAKE_POOL_PRIVATE) ? (CUmemoryPool)(uintptr_t)m : NULL;
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)to = device && m->kind == FAKE_VMM ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
        break;
    default:
        abort();
    }
}
EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *wanted, void **values, CUdeviceptr pointer)
{
    control.queries++;
    ENTER();
    for (unsigned i = 0; i < count; i++)
        answer(wanted[i], values[i], find(pointer));
    return CUDA_SUCCESS;
}
static CUresult allocate(void **out, enum fake_kind kind, size_t bytes)
{
    struct memory *memory = bytes ? create(stack[depth - 1]->gpu, kind, bytes) : NULL;
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = memory->base;
    return CUDA_SUCCESS;
}
static CUresult release(void *base, int mapped)
{
    struct memory *memory = find((CUdeviceptr)base);
    if (!memory || memory->base != base || memory->mapped != mapped)
        return CUDA_ERROR_INVALID_VALUE;
    drop(memory);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    CONTEXT();
    return allocate((void **)out, FAKE_MALLOC, bytes);
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    CONTEXT();
    struct memory *memory = find(pointer);
    return release((void *)pointer, memory ? memory->mapped : 0);
}
EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    CONTEXT();
    return flags == CU_MEMHOSTALLOC_PORTABLE ? allocate(out, FAKE_PINNED, bytes) : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuMemFreeHost(void *host)
{
    CONTEXT();
    return release(host, 0);
}
EXPORT CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    CONTEXT();
    if (flags != (CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE))
        return CUDA_ERROR_INVALID_VALUE;
    if (find((CUdeviceptr)host))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    for (int i = 0; i < ROOM; i++) {
        if (memories[i].base)
            continue;
        memories[i] = (struct memory){.base = host,
                                      .bytes = bytes,
                                      .id = ids++,
                                      .kind = FAKE_PINNED,
                                      .registered = 1,
                                      .gpu = stack[depth - 1]->gpu};
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}
EXPORT CUresult cuMemHostUnregister(void *host)
{
    CONTEXT();
    return release(host, 0);
}
EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *host, unsigned flags)
{
    CONTEXT();
    *out = (CUdeviceptr)host;
    return find(*out) && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CONTEXT();
    memmove((void *)to, (void *)from, bytes);
    return CUDA_SUCCESS;
}
static int stream_valid(CUstream stream)
{
    return stream == CU_STREAM_LEGACY || (stream->context->alive && stream->id == stream->context->id);
}
#define STREAM(stream)                                                                                                 \
    do {                                                                                                               \
        CONTEXT();                                                                                                     \
        if (!stream_valid(stream))                                                                                     \
            return CUDA_ERROR_INVALID_HANDLE;                                                                          \
    } while (0)
EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    STREAM(stream);
    memmove((void *)to, (void *)from, bytes);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream)
{
    STREAM(stream);
    memset((void *)to, byte, bytes);
    return CUDA_SUCCESS;
}

/* --- sharing: a legacy handle names the base; descriptors are those of the memory --- */
EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
    CONTEXT();
    struct memory *memory = find(pointer);
    if (!memory || memory->kind != FAKE_MALLOC)
        return CUDA_ERROR_INVALID_VALUE;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &memory->fd, sizeof memory->fd);
    memcpy(handle->reserved + 8, &memory->bytes, sizeof memory->bytes);
    return CUDA_SUCCESS;
}
static CUresult open_copy(CUdeviceptr *out, int fd, size_t bytes, enum fake_kind kind, void *at)
{
    struct memory *memory = add(stack[depth - 1]->gpu, kind, bytes, dup(fd), at);
    if (!memory)
        return CUDA_ERROR_MAP_FAILED;
    memory->mapped = 1;
    *out = (CUdeviceptr)memory->base;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    int fd;
    size_t bytes;
    CONTEXT();
    memcpy(&fd, &handle, sizeof fd);
    memcpy(&bytes, handle.reserved + 8, sizeof bytes);
    return flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ? open_copy(out, fd, bytes, FAKE_MALLOC, NULL)
                                                       : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
    CONTEXT();
    return release((void *)pointer, 1);
}
EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *pointer)
{
    ENTER();
    struct memory *memory = find((CUdeviceptr)pointer);
    if (!memory || memory->kind != FAKE_VMM)
        return CUDA_ERROR_INVALID_VALUE;
    objects++;
    *handle = (CUmemGenericAllocationHandle)memory->fd;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                             CUmemAllocationHandleType type, unsigned long long flags)
{
    ENTER();
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *(int *)out = dup((int)handle);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *fd,
                                               CUmemAllocationHandleType type)
{
    ENTER();
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    objects++;
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)fd;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    ENTER();
    (void)handle;
    objects--;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr address,
                                    unsigned long long flags)
{
    ENTER();
    if (alignment || address || flags)
        return CUDA_ERROR_INVALID_VALUE;
    objects++;
    *out = (CUdeviceptr)mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes)
{
    ENTER();
    objects--;
    munmap((void *)pointer, bytes);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                         unsigned long long flags)
{
    CUdeviceptr out;
    ENTER();
    return offset || flags ? CUDA_ERROR_INVALID_VALUE : open_copy(&out, (int)handle, bytes, FAKE_VMM, (void *)pointer);
}
EXPORT CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes)
{
    ENTER();
    CUresult result = release((void *)pointer, 1);
    mmap((void *)pointer, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return result;
}
EXPORT CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    ENTER();
    (void)bytes;
    return find(pointer) && count == 1 && access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool, CUmemAllocationHandleType type,
                                                 unsigned long long flags)
{
    ENTER();
    const struct memory *memory = (const struct memory *)pool;
    if (memory->kind != FAKE_POOL || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *(int *)out = dup(memory->fd);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr pointer)
{
    ENTER();
    memset(data, 0, sizeof *data);
    memcpy(data, &find(pointer)->bytes, sizeof(size_t));
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *fd, CUmemAllocationHandleType type,
                                                   unsigned long long flags)
{
    ENTER();
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        return CUDA_ERROR_INVALID_VALUE;
    objects++;
    *pool = (CUmemoryPool)((uintptr_t)fd + OBJECT_FD);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
    size_t bytes;
    CONTEXT();
    memcpy(&bytes, data, sizeof bytes);
    return open_copy(out, (int)((uintptr_t)pool - OBJECT_FD), bytes, FAKE_POOL, NULL);
}
EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    ENTER();
    return pool && access && count == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    ENTER();
    objects -= pool != NULL;
    return CUDA_SUCCESS;
}

/* --- streams and events: everything is done at once --- */
EXPORT CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    CONTEXT();
    if (flags != CU_STREAM_NON_BLOCKING || priority != -5)
        return CUDA_ERROR_INVALID_VALUE;
    static struct CUstream_st streams[4096]; /* those of contexts that have gone are never destroyed */
    static int made;
    if (made == 4096)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = &streams[made++];
    **out = (struct CUstream_st){.context = stack[depth - 1], .id = stack[depth - 1]->id};
    objects++;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    STREAM(stream);
    objects--;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    STREAM(stream);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamQuery(CUstream stream)
{
    STREAM(stream);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    STREAM(stream);
    return event && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    CONTEXT();
    if (flags != CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_VALUE;
    objects++;
    static uintptr_t made;
    *out = (CUevent)++made;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    CONTEXT();
    objects -= event != NULL;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    STREAM(stream);
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuEventQuery(CUevent event)
{
    CONTEXT();
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
