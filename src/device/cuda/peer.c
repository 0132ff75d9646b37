/* Access of one GPU's kernels to memory that this process has on another of its GPUs. How it is given follows from what
 * the memory was made by: cuMemAlloc (to all such memory of the two contexts), a pool, or mappings. */
#include "core/log.h"
#include "core/status.h"
#include "device/cuda/gpu.h"

static void ask(CUpointer_attribute attribute, void *value, const void *pointer)
{
    tutti_cuda.PointerGetAttributes(1, &attribute, &value, (CUdeviceptr)pointer);
}

static CUresult reach_context(const void *pointer)
{
    CUcontext owner = NULL;
    ask(CU_POINTER_ATTRIBUTE_CONTEXT, &owner, pointer);
    const CUresult result = owner ? tutti_cuda.CtxEnablePeerAccess(owner, 0) : CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? CUDA_SUCCESS : result;
}

static CUresult reach_mapping(const void *pointer, const CUmemAccessDesc *access)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    ask((CUpointer_attribute)TUTTI_CUDA_MAPPING_BASE, &base, pointer);
    ask((CUpointer_attribute)TUTTI_CUDA_MAPPING_SIZE, &bytes, pointer);
    return base && bytes ? tutti_cuda.MemSetAccess(base, bytes, access, 1) : CUDA_ERROR_INVALID_VALUE;
}

CUresult tutti_cuda_reach(int gpu, const void *pointer)
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
    ask(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, &legacy, pointer);
    ask(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, &pool, pointer);
    if (pool && !legacy)
        return tutti_cuda.MemPoolSetAccess(pool, &access, 1);
    return legacy ? reach_context(pointer) : reach_mapping(pointer, &access);
}

static int linked(int gpu, int owner)
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
    if (!linked(gpu, memory.gpu))
        return TUTTI_ERR_UNAVAILABLE;
    const int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    const CUresult result = tutti_cuda_reach(gpu, pointer);
    tutti_cuda_leave(&scope);
    if (result == CUDA_SUCCESS)
        return TUTTI_OK;
    tutti_cuda_declined(result, "access to another GPU's memory", gpu);
    return TUTTI_ERR_UNAVAILABLE;
}
