#include <stdlib.h>

#include "core/counters.h"
#include "core/log.h"
#include "core/ordinary.h"
#include "core/stack.h"
#include "core/status.h"
#include "device/cuda/gpu.h"

enum { KIND_ATTRIBUTES = 5, ALL_ATTRIBUTES = 8 };

/* What else the driver answers. */
struct asked {
    CUcontext owner;   /* the context in which the memory was made; NULL: of pools and mappings, or not asked for */
    unsigned complete; /* 1: synchronous copies and fills of this memory are complete when they return */
};

/* One call of the driver: it fills in zeros for pointers that it does not know, needs no current context and leaves no
 * error behind. The first `attributes` of the list are asked for. */
static void ask_driver(const void *pointer, unsigned attributes, struct tutti_memory *out, struct asked *asked)
{
    static CUpointer_attribute wanted[ALL_ATTRIBUTES] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,   CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,  CU_POINTER_ATTRIBUTE_CONTEXT};
    unsigned type = 0, managed = 0;
    int ordinal = -1;
    unsigned long long id = 0;
    CUdeviceptr base = 0;
    size_t bytes = 0;
    void *values[ALL_ATTRIBUTES] = {&type, &managed, &ordinal, &id, &asked->complete, &base, &bytes, &asked->owner};
    *asked = (struct asked){0};
    *out = (struct tutti_memory){.kind = TUTTI_MEMORY_HOST, .gpu = -1};
    if (!pointer || tutti_stack_holds(pointer) || tutti_ordinary_holds(pointer) || !tutti_cuda_ready())
        return;
    tutti_count("GPU driver", TUTTI_OUTCOME_ASKED, "what memory is");
    const CUresult result = tutti_cuda.PointerGetAttributes(attributes, wanted, values, (CUdeviceptr)pointer);
    if (result == CUDA_SUCCESS && type == 0)
        tutti_ordinary_note(pointer);
    if (result != CUDA_SUCCESS || type == 0)
        return;
    out->id = id;
    if (managed || type == CU_MEMORYTYPE_UNIFIED) {
        out->kind = TUTTI_MEMORY_MANAGED;
    } else if (type == CU_MEMORYTYPE_HOST) {
        out->kind = TUTTI_MEMORY_PINNED;
        return;
    } else {
        out->kind = TUTTI_MEMORY_DEVICE;
        out->base = (void *)base;
        out->bytes = bytes;
    }
    out->gpu = ordinal >= 0 && ordinal < TUTTI_CUDA_GPUS ? ordinal : -1;
}

void tutti_cuda_kind(const void *pointer, struct tutti_memory *out, int *complete)
{
    struct asked asked;
    ask_driver(pointer, KIND_ATTRIBUTES, out, &asked);
    if (complete)
        *complete = asked.complete != 0;
}

void tutti_cuda_classify(const void *pointer, struct tutti_memory *out)
{
    struct asked asked;
    ask_driver(pointer, ALL_ATTRIBUTES, out, &asked);
    if (out->kind == TUTTI_MEMORY_MANAGED) {
        tutti_cuda_look();
        tutti_cuda_complete_all(out->gpu);
    }
    if (out->kind != TUTTI_MEMORY_DEVICE)
        return;
    tutti_cuda_range_classify(pointer, out);
    tutti_cuda_look();
    if (asked.owner && out->gpu >= 0 && !tutti_cuda_works_in(out->gpu, asked.owner))
        tutti_cuda_adopt(out->gpu, asked.owner);
    if (__builtin_expect(!asked.complete, 0))
        tutti_cuda_complete_memory(out->gpu, pointer, asked.owner);
}

int tutti_cuda_alloc(int gpu, size_t bytes, void **device)
{
    struct tutti_cuda_scope scope;
    CUdeviceptr made = 0;
    int status = tutti_cuda_enter(gpu < 0 ? tutti_cuda_any() : gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.MemAlloc(&made, bytes ? bytes : 1);
    status = tutti_cuda_check(result, "allocating memory", scope.context);
    tutti_cuda_leave(&scope);
    if (status == TUTTI_OK)
        *device = (void *)made;
    return status;
}

/* The driver frees a context's memory with the context. In a forked child the memory belongs to the parent. */
int tutti_cuda_free(void *device)
{
    struct tutti_memory memory;
    struct tutti_cuda_scope scope;
    if (!device)
        return TUTTI_OK;
    if (!tutti_cuda_ready())
        return TUTTI_ERR_UNAVAILABLE;
    tutti_cuda_kind(device, &memory, NULL);
    if (memory.kind == TUTTI_MEMORY_HOST || !tutti_cuda_has_context(memory.gpu) ||
        tutti_cuda_enter(memory.gpu, 0, &scope) != TUTTI_OK)
        return TUTTI_OK;
    CUresult result = tutti_cuda.MemFree((CUdeviceptr)device);
    int status = tutti_cuda_check_free(result, "freeing memory", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_alloc_pinned(size_t bytes, void **host)
{
    struct tutti_cuda_scope scope;
    void *made = NULL;
    int status = tutti_cuda_enter(tutti_cuda_any(), 1, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.MemHostAlloc(&made, bytes ? bytes : 1, CU_MEMHOSTALLOC_PORTABLE);
    status = tutti_cuda_check(result, "allocating pinned host memory", scope.context);
    tutti_cuda_leave(&scope);
    if (status == TUTTI_OK)
        *host = made;
    return status;
}

int tutti_cuda_free_pinned(void *host)
{
    struct tutti_memory memory;
    struct tutti_cuda_scope scope;
    if (!host)
        return TUTTI_OK;
    tutti_cuda_kind(host, &memory, NULL);
    if (memory.kind != TUTTI_MEMORY_PINNED || !tutti_cuda_has_context(tutti_cuda_any()) ||
        tutti_cuda_enter(tutti_cuda_any(), 0, &scope) != TUTTI_OK)
        return TUTTI_OK;
    CUresult result = tutti_cuda.MemFreeHost(host);
    int status = tutti_cuda_check_free(result, "freeing pinned host memory", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

/* Host memory that was registered, counted, because ranks may be threads and map the same pages for several GPUs. */
struct registered {
    struct registered *next;
    void *host;
    int uses;
    int owned; /* registered here, not by the program */
    struct tutti_cuda_context *context;
};
static struct registered *registered;
static pthread_mutex_t registered_lock = PTHREAD_MUTEX_INITIALIZER;

static struct registered **find_registered(const void *host)
{
    struct registered **at = &registered;
    while (*at && (*at)->host != host)
        at = &(*at)->next;
    return at;
}

/* Under registered_lock; the context of the GPU is entered. */
static int register_host(void *host, size_t bytes, struct tutti_cuda_context *context)
{
    struct registered **at = find_registered(host);
    if (*at && (*at)->context->gone) { /* the registration went with its context */
        struct registered *stale = *at;
        *at = stale->next;
        free(stale);
        at = find_registered(host);
    }
    struct registered *entry = *at;
    if (entry && !atomic_load(&entry->context->gone)) {
        entry->uses++;
        return TUTTI_OK;
    }
    if (entry) { /* its registration went with the context */
        *at = entry->next;
        free(entry);
    }
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return TUTTI_ERR_MEMORY;
    CUresult result =
        tutti_cuda.MemHostRegister(host, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        free(entry);
        return tutti_cuda_check(result, "mapping host memory", context);
    }
    tutti_ordinary_forget(host, bytes);
    entry->host = host;
    entry->uses = 1;
    entry->owned = result == CUDA_SUCCESS;
    entry->context = context;
    entry->next = registered;
    registered = entry;
    return TUTTI_OK;
}

/* Under registered_lock. */
static int unregister_host(void *host)
{
    struct tutti_cuda_scope scope;
    struct registered **at = find_registered(host), *entry = *at;
    if (!entry)
        return TUTTI_ERR_ARGUMENT;
    if (--entry->uses > 0)
        return TUTTI_OK;
    int status = TUTTI_OK;
    if (entry->owned && tutti_cuda_enter_context(entry->context, &scope) == TUTTI_OK) {
        CUresult result = tutti_cuda.MemHostUnregister(host);
        status = tutti_cuda_check_free(result, "unmapping host memory", scope.context);
        tutti_cuda_leave(&scope);
    }
    *at = entry->next;
    free(entry);
    return status;
}

int tutti_cuda_map_host(int gpu, void *host, size_t bytes, void **device)
{
    struct tutti_cuda_scope scope;
    CUdeviceptr seen = 0;
    int status = tutti_cuda_enter(gpu < 0 ? tutti_cuda_any() : gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    pthread_mutex_lock(&registered_lock);
    status = register_host(host, bytes, scope.context);
    if (status == TUTTI_OK) {
        CUresult result = tutti_cuda.MemHostGetDevicePointer(&seen, host, 0);
        status = tutti_cuda_check(result, "mapping host memory", scope.context);
        if (status != TUTTI_OK)
            unregister_host(host);
    }
    pthread_mutex_unlock(&registered_lock);
    tutti_cuda_leave(&scope);
    if (status == TUTTI_OK)
        *device = (void *)seen;
    return status;
}

int tutti_cuda_unmap_host(int gpu, void *host)
{
    (void)gpu;
    pthread_mutex_lock(&registered_lock);
    int status = unregister_host(host);
    pthread_mutex_unlock(&registered_lock);
    return status;
}
