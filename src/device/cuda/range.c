/* Ranges: addresses reserved by the driver, on which pieces of memory are mapped one behind the other. The driver
 * treats a range as one allocation. This file finds its pieces, so that each piece is shared as an allocation. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/status.h"
#include "device/cuda/gpu.h"

struct piece {
    CUdeviceptr at;
    size_t bytes;
    uint64_t id;
};
struct range {
    struct range *next;
    CUdeviceptr base;
    size_t bytes, mapped; /* of addresses; of those that have memory */
    struct piece *piece;  /* in order of address */
    size_t pieces, room;
};
/* Two calls on one range at once there are not. The lock is for the books alone: the driver may wait for kernels, and
 * what they wait for may ask what a pointer is. */
static struct range *ranges;
static _Atomic uint64_t last_id; /* of a piece: with bit 63, so that no id of the driver's is like it */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static int range_attribute(CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    return tutti_cuda.DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

/* Memory of the GPU that other processes can map, and network cards where they can reach it. */
static CUmemAllocationProp shared_memory(CUdevice device)
{
    CUmemAllocationProp made = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    if (range_attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED))
        made.allocFlags.gpuDirectRDMACapable = 1;
    return made;
}

size_t tutti_cuda_range_grain(int gpu)
{
    CUdevice device;
    size_t grain = 0;
    if (!tutti_cuda_ready() || tutti_cuda.DeviceGet(&device, gpu) != CUDA_SUCCESS ||
        !range_attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) ||
        !range_attribute(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
        return 0;
    const CUmemAllocationProp wanted = shared_memory(device);
    return tutti_cuda.MemGetAllocationGranularity(&grain, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS
               ? grain
               : 0;
}

int tutti_cuda_range_open(int gpu, size_t bytes, void **base)
{
    struct tutti_cuda_scope scope;
    struct range *range = calloc(1, sizeof *range);
    if (!range)
        return TUTTI_ERR_MEMORY;
    int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status == TUTTI_OK) {
        const CUresult result = tutti_cuda.MemAddressReserve(&range->base, bytes, 0, 0, 0);
        if (result != CUDA_SUCCESS)
            status = tutti_cuda_declined(result, "reserving addresses", gpu);
        tutti_cuda_leave(&scope);
    }
    if (status != TUTTI_OK) {
        free(range);
        return status;
    }
    range->bytes = bytes;
    pthread_rwlock_wrlock(&lock);
    range->next = ranges;
    ranges = range;
    pthread_rwlock_unlock(&lock);
    *base = (void *)range->base;
    return TUTTI_OK;
}

/* The range that contains the address, or NULL. Under the lock. */
static struct range *cuda_range_of(CUdeviceptr at)
{
    struct range *range = ranges;
    while (range && at - range->base >= range->bytes)
        range = range->next;
    return range;
}

/* Room in the books for one more piece, at the end of its range. Under the lock. */
static struct range *place_for(CUdeviceptr at, size_t bytes)
{
    struct range *range = cuda_range_of(at);
    if (!range || bytes == 0 || at != range->base + range->mapped || bytes > range->bytes - range->mapped)
        return NULL;
    if (range->pieces == range->room) {
        const size_t room = range->room ? 2 * range->room : 8;
        struct piece *larger = realloc(range->piece, room * sizeof *larger);
        if (!larger)
            return NULL;
        range->piece = larger;
        range->room = room;
    }
    return range;
}

/* Maps the memory of the handle, which stays the caller's, as the next piece. The context is entered. */
static int cuda_range_put(int gpu, CUdevice device, CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle)
{
    pthread_rwlock_wrlock(&lock);
    struct range *range = place_for(at, bytes);
    pthread_rwlock_unlock(&lock);
    if (!range)
        return TUTTI_ERR_ARGUMENT;
    const CUresult result = tutti_cuda_map_handle(device, handle, at, bytes);
    if (result != CUDA_SUCCESS)
        return tutti_cuda_declined(result, "mapping memory", gpu);
    const uint64_t id = UINT64_C(1) << 63 | (atomic_fetch_add(&last_id, 1) + 1);
    pthread_rwlock_wrlock(&lock);
    range->piece[range->pieces++] = (struct piece){at, bytes, id};
    range->mapped += bytes;
    pthread_rwlock_unlock(&lock);
    return TUTTI_OK;
}

int tutti_cuda_range_add(int gpu, void *at, size_t bytes)
{
    struct tutti_cuda_scope scope;
    CUdevice device;
    CUmemGenericAllocationHandle handle;
    int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.DeviceGet(&device, gpu);
    if (result == CUDA_SUCCESS) {
        const CUmemAllocationProp wanted = shared_memory(device);
        result = tutti_cuda.MemCreate(&handle, bytes, &wanted, 0);
    }
    if (result == CUDA_SUCCESS) {
        status = cuda_range_put(gpu, device, (CUdeviceptr)at, bytes, handle);
        tutti_cuda.MemRelease(handle); /* a mapping keeps the memory */
    } else {
        status = tutti_cuda_declined(result, "allocating memory that grows", gpu);
    }
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_range_import(int gpu, const struct tutti_export *what, int fd, void *at)
{
    struct tutti_cuda_scope scope;
    CUdevice device;
    CUmemGenericAllocationHandle handle;
    if (!tutti_cuda_is_piece(what) || fd < 0)
        return TUTTI_ERR_ARGUMENT;
    int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.DeviceGet(&device, gpu);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.MemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd,
                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result == CUDA_SUCCESS) {
        status = cuda_range_put(gpu, device, (CUdeviceptr)at, (size_t)what->bytes, handle);
        tutti_cuda.MemRelease(handle);
    } else {
        status = tutti_cuda_declined(result, "mapping a peer's memory", gpu);
    }
    tutti_cuda_leave(&scope);
    return status;
}

/* Unmaps the last piece. What a context that has gone had mapped went with it. */
static int unmap_last(int gpu, struct range *range)
{
    struct tutti_cuda_scope scope;
    int status = TUTTI_OK;
    pthread_rwlock_wrlock(&lock);
    const struct piece last = range->piece[--range->pieces];
    range->mapped -= last.bytes;
    pthread_rwlock_unlock(&lock);
    if (tutti_cuda_has_context(gpu) && tutti_cuda_enter(gpu, 0, &scope) == TUTTI_OK) {
        const CUresult result = tutti_cuda.MemUnmap(last.at, last.bytes);
        status = tutti_cuda_check_free(result, "unmapping memory", scope.context);
        tutti_cuda_leave(&scope);
    }
    return status;
}

int tutti_cuda_range_cut(int gpu, void *at)
{
    if (!tutti_cuda_ready())
        return TUTTI_ERR_UNAVAILABLE;
    pthread_rwlock_rdlock(&lock);
    struct range *range = cuda_range_of((CUdeviceptr)at);
    const int is_last = range && range->pieces > 0 && range->piece[range->pieces - 1].at == (CUdeviceptr)at;
    pthread_rwlock_unlock(&lock);
    return is_last ? unmap_last(gpu, range) : TUTTI_ERR_ARGUMENT;
}

int tutti_cuda_range_close(int gpu, void *base)
{
    struct tutti_cuda_scope scope;
    int status = TUTTI_OK;
    if (!tutti_cuda_ready())
        return TUTTI_ERR_UNAVAILABLE;
    pthread_rwlock_wrlock(&lock);
    struct range **place = &ranges;
    while (*place && (*place)->base != (CUdeviceptr)base)
        place = &(*place)->next;
    struct range *range = *place;
    if (range)
        *place = range->next;
    pthread_rwlock_unlock(&lock);
    if (!range)
        return TUTTI_ERR_ARGUMENT;
    while (range->pieces > 0) {
        const int unmapped = unmap_last(gpu, range);
        status = status == TUTTI_OK ? unmapped : status;
    }
    if (tutti_cuda_has_context(gpu) && tutti_cuda_enter(gpu, 0, &scope) == TUTTI_OK) {
        const CUresult result = tutti_cuda.MemAddressFree(range->base, range->bytes);
        const int freed = tutti_cuda_check_free(result, "giving addresses back", scope.context);
        status = status == TUTTI_OK ? freed : status;
        tutti_cuda_leave(&scope);
    }
    free(range->piece);
    free(range);
    return status;
}

void tutti_cuda_range_classify(const void *pointer, struct tutti_memory *memory)
{
    const CUdeviceptr at = (CUdeviceptr)pointer;
    if (atomic_load_explicit(&last_id, memory_order_relaxed) == 0) /* there never was a piece */
        return;
    pthread_rwlock_rdlock(&lock);
    const struct range *range = cuda_range_of(at);
    for (size_t i = 0; range && i < range->pieces; i++) {
        const struct piece *piece = &range->piece[i];
        if (at - piece->at >= piece->bytes)
            continue;
        memory->base = (void *)piece->at;
        memory->bytes = piece->bytes;
        memory->id = piece->id;
    }
    pthread_rwlock_unlock(&lock);
}
