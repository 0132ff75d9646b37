/* The allocations that calls of the MPI name: synchronous copies and fills of the program are complete in them, see
 * complete.c. */
#include "device/cuda/gpu.h"

void tutti_cuda_complete_all(int gpu)
{
    if (gpu < 0 || gpu >= TUTTI_CUDA_GPUS)
        gpu = tutti_cuda_any();
    struct tutti_cuda_context *context = tutti_cuda_context_of(gpu);
    if (tutti_cuda_complete_flagged(gpu) &&
        (!context || atomic_load_explicit(&context->complete, memory_order_acquire) != TUTTI_CUDA_COMPLETE_SEEN))
        return;
    tutti_cuda_complete_flag(gpu);
    context = tutti_cuda_context_of(gpu); /* one that is chosen later begins with the flag */
    if (context)
        tutti_cuda_complete_begin(context, 0);
}

/* The context is current, so far as there is one. The driver returns when the copies of this memory that are under way
 * are complete. */
static CUresult complete_set(const void *pointer)
{
    const unsigned yes = 1;
    const CUstreamCaptureMode mode = tutti_cuda_relax();
    const CUresult result =
        tutti_cuda.PointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)(uintptr_t)pointer);
    tutti_cuda_unrelax(mode);
    return result;
}

void tutti_cuda_complete_memory(int gpu, const void *pointer, CUcontext owner)
{
    const struct tutti_cuda_context *const context = tutti_cuda_context_of(gpu);
    CUcontext popped;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (context && ((owner && owner != context->handle) || /* tutti_cuda_complete_beside() has set its flag */
                    atomic_load_explicit(&context->complete, memory_order_acquire) != TUTTI_CUDA_COMPLETE_SEEN))
        return;
    if (owner && tutti_cuda.CtxPushCurrent(owner) == CUDA_SUCCESS) {
        result = complete_set(pointer);
        tutti_cuda.CtxPopCurrent(&popped);
    }
    if (result != CUDA_SUCCESS)
        tutti_cuda_complete_all(gpu);
}
