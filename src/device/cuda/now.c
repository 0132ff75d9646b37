/* Copies outside any stream, done on return. Plain copies are part of the legacy default stream. While the program
 * captures a stream that waits for the legacy stream, a plain copy would make the capture invalid. A query of the
 * capture does no harm and comes first. */
#include <string.h>

#include "core/status.h"
#include "device/cuda/gate.h"
#include "device/cuda/gpu.h"

/* In the default stream of the context, as the program's own copies are. Copies into device memory may return before
 * the last byte is there, but those from pinned memory, and kernels of other streams would not wait for it. */
static CUresult in_default(CUdeviceptr to, CUdeviceptr from, size_t bytes, int wait)
{
    CUstreamCaptureStatus unused;
    CUresult result = tutti_cuda.StreamIsCapturing(CU_STREAM_LEGACY, &unused);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.Memcpy(to, from, bytes);
    if (result == CUDA_SUCCESS && wait)
        result = tutti_cuda.StreamSynchronize(CU_STREAM_LEGACY);
    return result;
}

int tutti_cuda_make_beside(struct tutti_cuda_context *context)
{
    CUresult result = CUDA_SUCCESS;
    CUstream made = NULL;
    pthread_mutex_lock(&context->lock);
    if (!atomic_load(&context->beside))
        result = tutti_cuda.StreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, 0);
    if (made)
        atomic_store(&context->beside, made);
    pthread_mutex_unlock(&context->lock);
    return tutti_cuda_check(result, "making a stream", context);
}

/* In a stream that waits for no other and takes part in no capture. */
static int in_own(CUdeviceptr to, CUdeviceptr from, size_t bytes, struct tutti_cuda_context *context)
{
    int status = atomic_load(&context->beside) ? TUTTI_OK : tutti_cuda_gated_make_beside(context);
    if (status != TUTTI_OK)
        return status;
    CUstream own = atomic_load(&context->beside);
    CUresult result = tutti_cuda.MemcpyAsync(to, from, bytes, own);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.StreamSynchronize(own);
    return tutti_cuda_check(result, "copying while a stream is captured", context);
}

/* wait: the driver may return before the last byte is there. */
static int copy_on(int gpu, void *to, const void *from, size_t bytes, int wait)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    CUstreamCaptureMode mode = tutti_cuda_relax();
    wait = wait && !atomic_load_explicit(&scope.context->complete, memory_order_relaxed);
    CUresult result = in_default((CUdeviceptr)to, (CUdeviceptr)from, bytes, wait);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        status = in_own((CUdeviceptr)to, (CUdeviceptr)from, bytes, scope.context);
    else
        status = tutti_cuda_check(result, "copying", scope.context);
    tutti_cuda_unrelax(mode);
    tutti_cuda_leave(&scope);
    return status;
}

/* Copies between device memory and pinned memory are complete when the driver returns, in both directions. */
int tutti_cuda_copy_pinned(int gpu, void *to, const void *from, size_t bytes)
{
    return bytes ? copy_on(gpu >= 0 ? gpu : tutti_cuda_any(), to, from, bytes, 0) : TUTTI_OK;
}

/* Copies from device memory are. Copies into it are where the driver makes synchronous copies complete (complete.c). */
int tutti_cuda_copy_ordinary(int gpu, void *to, const void *from, size_t bytes)
{
    return bytes ? copy_on(gpu >= 0 ? gpu : tutti_cuda_any(), to, from, bytes, 1) : TUTTI_OK;
}

int tutti_cuda_copy_now(void *to, const void *from, size_t bytes)
{
    struct tutti_memory into, out_of;
    if (!bytes)
        return TUTTI_OK;
    tutti_cuda_kind(to, &into);
    tutti_cuda_kind(from, &out_of);
    if (into.kind == TUTTI_MEMORY_HOST && out_of.kind == TUTTI_MEMORY_HOST) {
        memcpy(to, from, bytes);
        return TUTTI_OK;
    }
    const int gpu = into.gpu >= 0 ? into.gpu : out_of.gpu >= 0 ? out_of.gpu : tutti_cuda_any();
    const int is_there = into.kind == TUTTI_MEMORY_HOST ||
                         (into.kind == TUTTI_MEMORY_DEVICE && out_of.kind == TUTTI_MEMORY_PINNED) ||
                         (into.kind == TUTTI_MEMORY_PINNED && out_of.kind == TUTTI_MEMORY_DEVICE);
    return copy_on(gpu, to, from, bytes, !is_there);
}
