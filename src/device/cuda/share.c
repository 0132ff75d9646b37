/* Memory across processes. Three ways, by what the program allocated:
 *   legacy  cuMemAlloc, cudaMalloc: the token is the IPC handle
 *   vmm     cuMemCreate: a descriptor, mapped at an address of this process's own
 *   pool    cudaMallocAsync from a pool made for sharing: a descriptor of the pool, the token names the memory in it
 * The driver does not open a handle in the process that made it. `kind` therefore holds, beside the way (bits 0 to 3),
 * a number drawn at random by the exporting process (bits 4 to 31): pids do not distinguish processes of two
 * containers.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/counters.h"
#include "core/log.h"
#include "core/status.h"
#include "device/cuda/gpu.h"

enum { LEGACY = 1, VMM = 2, POOL = 3 };

_Static_assert(sizeof(CUipcMemHandle) == TUTTI_EXPORT_TOKEN, "an IPC handle fills the token");
_Static_assert(sizeof(CUmemPoolPtrExportData) == TUTTI_EXPORT_TOKEN, "a pool's export fills the token");

static uint32_t process_number(void)
{
    static _Atomic uint32_t number;
    uint32_t now = atomic_load(&number);
    if (now)
        return now;
    uint32_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn)
        drawn = (uint32_t)(tutti_now_ns() * 2654435761u) ^ (uint32_t)getpid();
    drawn = (drawn & 0xfffffffu) | 1;
    return atomic_compare_exchange_strong(&number, &now, drawn) ? drawn : now;
}

static uint32_t kind_word(uint32_t way)
{
    return process_number() << 4 | way;
}

static uint32_t share_way_of(const struct tutti_export *what)
{
    return what->kind & 15;
}

/* The exporter is this process and the allocation still lives. */
static int is_own(const struct tutti_export *what, struct tutti_memory *memory)
{
    if (what->kind >> 4 != process_number())
        return 0;
    tutti_cuda_classify((const void *)(uintptr_t)what->base, memory);
    return memory->kind == TUTTI_MEMORY_DEVICE && memory->id == what->id &&
           (uint64_t)(uintptr_t)memory->base == what->base;
}

/* One attribute; 0 in the value where the driver does not know it. */
static void pointer_ask(CUpointer_attribute attribute, void *value, const void *pointer)
{
    tutti_cuda.PointerGetAttributes(1, &attribute, &value, (CUdeviceptr)pointer);
}

static int close_on_exec(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? TUTTI_OK : TUTTI_ERR_SYSTEM;
}

static CUresult export_legacy(const struct tutti_memory *memory, struct tutti_export *out)
{
    CUipcMemHandle handle;
    CUresult result = tutti_cuda.IpcGetMemHandle(&handle, (CUdeviceptr)memory->base);
    if (result == CUDA_SUCCESS)
        memcpy(out->token, &handle, sizeof handle);
    return result;
}

static CUresult export_pool(const struct tutti_memory *memory, CUmemoryPool pool, struct tutti_export *out, int *fd)
{
    CUmemPoolPtrExportData data;
    int made = -1;
    CUresult result =
        tutti_cuda.MemPoolExportToShareableHandle(&made, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = tutti_cuda.MemPoolExportPointer(&data, (CUdeviceptr)memory->base);
    if (result != CUDA_SUCCESS) {
        close(made);
        return result;
    }
    memcpy(out->token, &data, sizeof data);
    *fd = made;
    return CUDA_SUCCESS;
}

/* A range made of several allocations has no single descriptor. */
static CUresult export_vmm(const struct tutti_memory *memory, int *fd)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    unsigned long long allowed = 0;
    CUmemGenericAllocationHandle handle;
    pointer_ask((CUpointer_attribute)TUTTI_CUDA_MAPPING_BASE, &base, memory->base);
    pointer_ask((CUpointer_attribute)TUTTI_CUDA_MAPPING_SIZE, &bytes, memory->base);
    pointer_ask(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, &allowed, memory->base);
    if (base != (CUdeviceptr)memory->base || bytes != memory->bytes ||
        !(allowed & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = tutti_cuda.MemRetainAllocationHandle(&handle, memory->base);
    if (result != CUDA_SUCCESS)
        return result;
    result = tutti_cuda.MemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    tutti_cuda.MemRelease(handle);
    return result;
}

int tutti_cuda_export(const void *device, struct tutti_export *out, int *fd)
{
    struct tutti_memory memory;
    struct tutti_cuda_scope scope;
    tutti_count("GPU driver", TUTTI_OUTCOME_ASKED, "how memory is shared");
    tutti_cuda_classify(device, &memory);
    if (memory.kind != TUTTI_MEMORY_DEVICE || !memory.base || !memory.bytes || !memory.id)
        return TUTTI_ERR_NOT_EXPORTABLE;
    int status = tutti_cuda_enter(memory.gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;

    struct tutti_export made = {.id = memory.id, .base = (uint64_t)(uintptr_t)memory.base, .bytes = memory.bytes};
    int descriptor = -1;
    unsigned legacy = 0;
    CUmemoryPool pool = NULL;
    CUresult result;
    pointer_ask(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, &legacy, memory.base);
    pointer_ask(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, &pool, memory.base);
    if (legacy) {
        made.kind = kind_word(LEGACY);
        result = export_legacy(&memory, &made);
    } else if (pool) {
        made.kind = kind_word(POOL);
        result = export_pool(&memory, pool, &made, &descriptor);
    } else {
        made.kind = kind_word(VMM);
        result = export_vmm(&memory, &descriptor);
    }
    if (result != CUDA_SUCCESS) {
        tutti_cuda_declined(result, "sharing this memory with other processes", memory.gpu);
        status = tutti_cuda_gone(result) ? TUTTI_ERR_DEVICE : TUTTI_ERR_NOT_EXPORTABLE;
    } else if (descriptor >= 0) {
        made.needs_fd = 1;
        status = close_on_exec(descriptor);
        if (status != TUTTI_OK)
            close(descriptor);
    }
    tutti_cuda_leave(&scope);
    if (status == TUTTI_OK) {
        *out = made;
        *fd = descriptor;
    }
    return status;
}

/* ---- access of one GPU's kernels to memory on another one of this process ---- */

static CUresult reach_context(const void *pointer)
{
    CUcontext owner = NULL;
    pointer_ask(CU_POINTER_ATTRIBUTE_CONTEXT, &owner, pointer);
    const CUresult result = owner ? tutti_cuda.CtxEnablePeerAccess(owner, 0) : CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? CUDA_SUCCESS : result;
}

static CUresult reach_mapping(const void *pointer, const CUmemAccessDesc *access)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    pointer_ask((CUpointer_attribute)TUTTI_CUDA_MAPPING_BASE, &base, pointer);
    pointer_ask((CUpointer_attribute)TUTTI_CUDA_MAPPING_SIZE, &bytes, pointer);
    return base && bytes ? tutti_cuda.MemSetAccess(base, bytes, access, 1) : CUDA_ERROR_INVALID_VALUE;
}

/* By what the memory was made by: cuMemAlloc (all such memory of the two contexts), a pool, or mappings. The context
 * of `gpu` is entered. */
static CUresult give_access(int gpu, const void *pointer)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdevice device;
    unsigned legacy = 0;
    CUmemoryPool pool = NULL;
    const CUresult result = tutti_cuda.DeviceGet(&device, gpu);
    if (result != CUDA_SUCCESS)
        return result;
    access.location.id = device;
    pointer_ask(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, &legacy, pointer);
    pointer_ask(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, &pool, pointer);
    if (pool && !legacy)
        return tutti_cuda.MemPoolSetAccess(pool, &access, 1);
    return legacy ? reach_context(pointer) : reach_mapping(pointer, &access);
}

static int gpus_linked(int gpu, int owner)
{
    CUdevice one, other;
    int can = 0;
    return tutti_cuda.DeviceGet(&one, gpu) == CUDA_SUCCESS && tutti_cuda.DeviceGet(&other, owner) == CUDA_SUCCESS &&
           tutti_cuda.DeviceCanAccessPeer(&can, one, other) == CUDA_SUCCESS && can;
}

int tutti_cuda_reach_memory(int gpu, const void *pointer)
{
    struct tutti_memory memory;
    struct tutti_cuda_scope scope;
    tutti_cuda_classify(pointer, &memory);
    if (memory.kind == TUTTI_MEMORY_HOST)
        return TUTTI_ERR_ARGUMENT;
    if (memory.kind != TUTTI_MEMORY_DEVICE || memory.gpu < 0 || memory.gpu == gpu)
        return TUTTI_OK;
    if (!gpus_linked(gpu, memory.gpu))
        return TUTTI_ERR_UNAVAILABLE;
    const int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    const CUresult result = give_access(gpu, pointer);
    tutti_cuda_leave(&scope);
    if (result == CUDA_SUCCESS)
        return TUTTI_OK;
    tutti_cuda_declined(result, "access to another GPU's memory", gpu);
    return TUTTI_ERR_UNAVAILABLE;
}

/* Another thread may be closing the same handle: worth one more try. */
static CUresult import_legacy(const struct tutti_export *what, CUdeviceptr *out)
{
    CUipcMemHandle handle;
    memcpy(&handle, what->token, sizeof handle);
    CUresult result = tutti_cuda.IpcOpenMemHandle(out, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result == CUDA_ERROR_ALREADY_MAPPED)
        result = tutti_cuda.IpcOpenMemHandle(out, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    return result;
}

int tutti_cuda_is_piece(const struct tutti_export *what)
{
    return share_way_of(what) == VMM && what->needs_fd;
}

CUresult tutti_cuda_map_handle(CUdevice device, CUmemGenericAllocationHandle handle, CUdeviceptr at, size_t bytes)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = tutti_cuda.MemMap(at, bytes, 0, handle, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = tutti_cuda.MemSetAccess(at, bytes, &access, 1);
    if (result != CUDA_SUCCESS) {
        tutti_cuda.MemUnmap(at, bytes);
        return result;
    }
    /* Copies run where the driver thinks best, the owner's GPU among others: all that can may reach it. */
    for (int g = 0; g < tutti_cuda_count(); g++) {
        CUdevice other;
        if (tutti_cuda.DeviceGet(&other, g) != CUDA_SUCCESS || other == device)
            continue;
        access.location.id = other;
        tutti_cuda.MemSetAccess(at, bytes, &access, 1);
    }
    return CUDA_SUCCESS;
}

static CUresult import_vmm(const struct tutti_export *what, CUdevice device, int fd, CUdeviceptr *out)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at = 0;
    size_t bytes = (size_t)what->bytes;
    CUresult result = tutti_cuda.MemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd,
                                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result != CUDA_SUCCESS)
        return result;
    result = tutti_cuda.MemAddressReserve(&at, bytes, 0, 0, 0);
    if (result == CUDA_SUCCESS) {
        result = tutti_cuda_map_handle(device, handle, at, bytes);
        if (result == CUDA_SUCCESS)
            *out = at;
        else
            tutti_cuda.MemAddressFree(at, bytes);
    }
    tutti_cuda.MemRelease(handle); /* the mapping keeps the memory */
    return result;
}

/* Each import of pool memory opens the pool again. The pool stays open as long as the memory is mapped. */
struct opened_pool {
    struct opened_pool *next;
    CUdeviceptr base;
    CUmemoryPool pool;
};
static struct opened_pool *opened_pools;
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult import_pool(const struct tutti_export *what, CUdevice device, int fd, CUdeviceptr *out)
{
    CUmemPoolPtrExportData data;
    CUdeviceptr at = 0;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    struct opened_pool *opened = calloc(1, sizeof *opened);
    if (!opened)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = tutti_cuda.MemPoolImportFromShareableHandle(&opened->pool, (void *)(uintptr_t)fd,
                                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS)
        goto free_opened;
    memcpy(&data, what->token, sizeof data);
    result = tutti_cuda.MemPoolSetAccess(opened->pool, &access, 1);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.MemPoolImportPointer(&at, opened->pool, &data);
    if (result != CUDA_SUCCESS)
        goto destroy_pool;
    opened->base = at;
    pthread_mutex_lock(&opened_lock);
    opened->next = opened_pools;
    opened_pools = opened;
    pthread_mutex_unlock(&opened_lock);
    *out = at;
    return CUDA_SUCCESS;
destroy_pool:
    tutti_cuda.MemPoolDestroy(opened->pool);
free_opened:
    free(opened);
    return result;
}

int tutti_cuda_import(int gpu, const struct tutti_export *what, int fd, void **base)
{
    struct tutti_memory memory;
    struct tutti_cuda_scope scope;
    CUdevice device;
    CUdeviceptr at = 0;
    if (what->needs_fd && fd < 0)
        return TUTTI_ERR_ARGUMENT;
    if (share_way_of(what) < LEGACY || share_way_of(what) > POOL) {
        tutti_error("a peer names its memory in a way that this build does not know: use one build on all ranks");
        return TUTTI_ERR_ARGUMENT;
    }
    int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.DeviceGet(&device, gpu);
    if (result != CUDA_SUCCESS) {
        status = tutti_cuda_check(result, "importing memory", scope.context);
    } else if (share_way_of(what) != VMM && is_own(what, &memory)) {
        result = memory.gpu == gpu ? CUDA_SUCCESS : give_access(gpu, memory.base); /* ranks that are threads */
        at = (CUdeviceptr)what->base;
    } else if (share_way_of(what) == LEGACY) {
        result = import_legacy(what, &at);
    } else if (share_way_of(what) == VMM) {
        result = import_vmm(what, device, fd, &at);
    } else {
        result = import_pool(what, device, fd, &at);
    }
    if (status == TUTTI_OK && result != CUDA_SUCCESS)
        status = tutti_cuda_declined(result, "mapping a peer's memory", gpu);
    tutti_cuda_leave(&scope);
    if (status == TUTTI_OK)
        *base = (void *)at;
    return status;
}

static CUresult release_pool(CUdeviceptr base)
{
    pthread_mutex_lock(&opened_lock);
    struct opened_pool **at = &opened_pools;
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    struct opened_pool *opened = *at;
    if (opened)
        *at = opened->next;
    pthread_mutex_unlock(&opened_lock);
    if (!opened)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = tutti_cuda.MemFree(base);
    CUresult destroyed = tutti_cuda.MemPoolDestroy(opened->pool);
    free(opened);
    return result != CUDA_SUCCESS ? result : destroyed;
}

/* What a context that has gone had mapped went with it. */
int tutti_cuda_release(int gpu, const struct tutti_export *what, void *base)
{
    struct tutti_cuda_scope scope;
    CUdeviceptr at = (CUdeviceptr)base;
    if (what->kind >> 4 == process_number() && (uint64_t)(uintptr_t)base == what->base && share_way_of(what) != VMM)
        return TUTTI_OK; /* this process's own memory was not mapped again */
    if (!tutti_cuda_has_context(gpu) || tutti_cuda_enter(gpu, 0, &scope) != TUTTI_OK)
        return TUTTI_OK;
    CUresult result;
    if (share_way_of(what) == LEGACY) {
        result = tutti_cuda.IpcCloseMemHandle(at);
    } else if (share_way_of(what) == POOL) {
        result = release_pool(at);
    } else {
        result = tutti_cuda.MemUnmap(at, (size_t)what->bytes);
        if (result == CUDA_SUCCESS)
            result = tutti_cuda.MemAddressFree(at, (size_t)what->bytes);
    }
    int status = tutti_cuda_check_free(result, "unmapping a peer's memory", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}
