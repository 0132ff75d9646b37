/* Memory of the pretended driver, and how it is shared. */
#include "fake_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <unistd.h>

struct memory fake_memories[ROOM];

struct memory *fake_find(CUdeviceptr pointer)
{
    for (int i = 0; i < ROOM; i++) {
        if (fake_memories[i].base && (char *)pointer >= fake_memories[i].base &&
            (char *)pointer < fake_memories[i].base + fake_memories[i].bytes)
            return &fake_memories[i];
    }
    return NULL;
}

struct memory *fake_add(int gpu, enum fake_kind kind, size_t bytes, int fd, void *at)
{
    for (int i = 0; i < ROOM; i++) {
        if (fake_memories[i].base)
            continue;
        bytes = (bytes + PAGE - 1) / PAGE * PAGE;
        char *base = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
        if (base == MAP_FAILED)
            return NULL;
        fake_memories[i] =
            (struct memory){.base = base, .bytes = bytes, .id = fake_ids++, .gpu = gpu, .fd = fd, .kind = kind};
        return &fake_memories[i];
    }
    return NULL;
}

struct memory *fake_create(int gpu, enum fake_kind kind, size_t bytes)
{
    int fd = memfd_create("fake", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)((bytes + PAGE - 1) / PAGE * PAGE)) != 0)
        return NULL;
    return fake_add(gpu, kind, bytes, fd, NULL);
}

void fake_drop(struct memory *memory)
{
    if (!memory->registered) {
        munmap(memory->base, memory->bytes);
        close(memory->fd);
    }
    memory->base = NULL;
}

/* --- memory --- */
/* Addresses that are reserved, which a driver takes for one range whatever is mapped there. */
static struct {
    char *base;
    size_t bytes;
} reserved[ROOM];
static void range_of(const struct memory *m, char **base, size_t *bytes)
{
    *base = m->base;
    *bytes = m->bytes;
    for (int i = 0; i < ROOM; i++) {
        if (reserved[i].base && (size_t)(m->base - reserved[i].base) < reserved[i].bytes) {
            *base = reserved[i].base;
            *bytes = reserved[i].bytes;
        }
    }
}
static void answer(CUpointer_attribute attribute, void *to, const struct memory *m)
{
    int device = m && m->kind != FAKE_PINNED && m->kind != FAKE_MANAGED;
    char *base = NULL;
    size_t bytes = 0;
    if (m)
        range_of(m, &base, &bytes);
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)to = !m || (m->kind != FAKE_MALLOC && m->kind != FAKE_PINNED) ? NULL
                           : m->made_in                                             ? m->made_in
                                                                                    : &fake_primary[m->gpu];
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
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)to = m ? (unsigned)m->complete : 0;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)to = (CUdeviceptr)base;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)to = bytes;
        break;
    case 19: /* start of the mapping */
        *(CUdeviceptr *)to = m ? (CUdeviceptr)m->base : 0;
        break;
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
    fake_state.queries++;
    ENTER();
    for (unsigned i = 0; i < count; i++)
        answer(wanted[i], values[i], fake_find(pointer));
    return CUDA_SUCCESS;
}
/* Memory of the context that is current, and none of pools and mappings. */
EXPORT CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    UNSAFE();
    struct memory *memory = fake_find(pointer);
    const CUcontext owner = !memory ? NULL : memory->made_in ? memory->made_in : &fake_primary[memory->gpu];
    if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !owner || owner != fake_stack[fake_depth - 1])
        return CUDA_ERROR_INVALID_VALUE;
    if (memory->kind != FAKE_MALLOC)
        return CUDA_ERROR_NOT_SUPPORTED;
    memory->complete = *(const unsigned *)value != 0;
    fake_state.completed++;
    return CUDA_SUCCESS;
}
static CUresult allocate(void **out, enum fake_kind kind, size_t bytes)
{
    struct memory *memory = bytes ? fake_create(fake_stack[fake_depth - 1]->gpu, kind, bytes) : NULL;
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = memory->base;
    return CUDA_SUCCESS;
}
static CUresult release(void *base, int mapped)
{
    struct memory *memory = fake_find((CUdeviceptr)base);
    if (!memory || memory->base != base || memory->mapped != mapped)
        return CUDA_ERROR_INVALID_VALUE;
    fake_drop(memory);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    UNSAFE();
    return allocate((void **)out, FAKE_MALLOC, bytes);
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    UNSAFE();
    struct memory *memory = fake_find(pointer);
    return release((void *)pointer, memory ? memory->mapped : 0);
}
EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    UNSAFE();
    return flags == CU_MEMHOSTALLOC_PORTABLE ? allocate(out, FAKE_PINNED, bytes) : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuMemFreeHost(void *host)
{
    UNSAFE();
    return release(host, 0);
}
EXPORT CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    UNSAFE();
    if (flags != (CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE))
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_find((CUdeviceptr)host))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    for (int i = 0; i < ROOM; i++) {
        if (fake_memories[i].base)
            continue;
        fake_memories[i] = (struct memory){.base = host,
                                           .bytes = bytes,
                                           .id = fake_ids++,
                                           .kind = FAKE_PINNED,
                                           .registered = 1,
                                           .gpu = fake_stack[fake_depth - 1]->gpu};
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}
EXPORT CUresult cuMemHostUnregister(void *host)
{
    UNSAFE();
    return release(host, 0);
}
EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *host, unsigned flags)
{
    CONTEXT();
    *out = (CUdeviceptr)host;
    return fake_find(*out) && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    UNSAFE();
    if (fake_used(CU_STREAM_LEGACY) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    fake_state.plain_copies++;
    fake_stream_done(CU_STREAM_LEGACY);
    memmove((void *)to, (void *)from, bytes);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    STREAM(stream);
    if (fake_used(stream) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    const struct memory *const pinned = fake_is_legacy(stream) ? fake_find(to) : NULL;
    if (!pinned || pinned->kind != FAKE_PINNED || !fake_late_copy((void *)to, (void *)from, bytes))
        fake_stream_copy(stream, (void *)to, (void *)from, bytes);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    STREAM(stream);
    if (fake_used(stream) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    fake_state.row_copies += copy->Height == 2 && copy->dstPitch == copy->WidthInBytes;
    for (size_t i = 0; i < copy->Height; i++)
        memmove((char *)copy->dstDevice + i * copy->dstPitch, (const char *)copy->srcHost + i * copy->srcPitch,
                copy->WidthInBytes);
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
    struct memory *memory = fake_find(pointer);
    if (!memory || memory->kind != FAKE_MALLOC)
        return CUDA_ERROR_INVALID_VALUE;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &memory->fd, sizeof memory->fd);
    memcpy(handle->reserved + 8, &memory->bytes, sizeof memory->bytes);
    return CUDA_SUCCESS;
}
static CUresult open_copy(CUdeviceptr *out, int fd, size_t bytes, enum fake_kind kind, void *at)
{
    struct memory *memory = fake_add(fake_stack[fake_depth - 1]->gpu, kind, bytes, dup(fd), at);
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
    UNSAFE();
    memcpy(&fd, &handle, sizeof fd);
    memcpy(&bytes, handle.reserved + 8, sizeof bytes);
    return flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ? open_copy(out, fd, bytes, FAKE_MALLOC, NULL)
                                                       : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
    UNSAFE();
    return release((void *)pointer, 1);
}
EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *pointer)
{
    ENTER();
    struct memory *memory = fake_find((CUdeviceptr)pointer);
    if (!memory || memory->kind != FAKE_VMM)
        return CUDA_ERROR_INVALID_VALUE;
    fake_objects++;
    *handle = (CUmemGenericAllocationHandle)memory->fd;
    return CUDA_SUCCESS;
}
static fd_set created; /* handles that own their descriptor */
EXPORT CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *wanted,
                                              CUmemAllocationGranularity_flags which)
{
    ENTER();
    if (wanted->type != CU_MEM_ALLOCATION_TYPE_PINNED || which != CU_MEM_ALLOC_GRANULARITY_MINIMUM)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = GRAIN;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *wanted,
                            unsigned long long flags)
{
    UNSAFE();
    if (bytes % GRAIN || flags || wanted->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    const int fd = memfd_create("fake", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fake_objects++;
    FD_SET(fd, &created);
    *handle = (CUmemGenericAllocationHandle)fd;
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
    fake_objects++;
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)fd;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    ENTER();
    if (FD_ISSET((int)handle, &created)) /* of cuMemCreate; others have no descriptor of their own */
        close((int)handle);
    FD_CLR((int)handle, &created);
    fake_objects--;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr address,
                                    unsigned long long flags)
{
    ENTER();
    if (alignment || address || flags)
        return CUDA_ERROR_INVALID_VALUE;
    fake_objects++;
    *out = (CUdeviceptr)mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ROOM; i++) {
        if (reserved[i].base)
            continue;
        reserved[i].base = (char *)*out;
        reserved[i].bytes = bytes;
        break;
    }
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes)
{
    ENTER();
    fake_objects--;
    for (int i = 0; i < ROOM; i++) {
        if (reserved[i].base == (char *)pointer)
            reserved[i].base = NULL;
    }
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
    const void *const kept = mmap((void *)pointer, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return kept == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : result;
}
EXPORT CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    ENTER();
    (void)bytes;
    return fake_find(pointer) && count == 1 && access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
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
    memcpy(data, &fake_find(pointer)->bytes, sizeof(size_t));
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *fd, CUmemAllocationHandleType type,
                                                   unsigned long long flags)
{
    ENTER();
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        return CUDA_ERROR_INVALID_VALUE;
    fake_objects++;
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
    fake_objects -= pool != NULL;
    return CUDA_SUCCESS;
}
