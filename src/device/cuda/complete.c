/* Synchronous copies and fills of the program. CUDA lets many of them return before they are complete: copies within
 * the GPU, fills, and short copies from pageable memory. Later work of the default stream is ordered behind
 * them, but not Tutti's kernels, which run in streams of their own and on other GPUs: they would read what the copy has
 * not written yet, or it would overwrite their data. A flag of the context makes these calls wait, as GPU-aware
 * MPIs and UCX ask for too. */
#include "core/clock.h"
#include "core/log.h"
#include "device/cuda/gpu.h"

/* For copies that began before the flag was set. Not forever: a kernel of the program in the same stream may wait for
 * a peer, which waits for the call that this is part of. No progress is made meanwhile, since the caller may hold
 * locks.
 */
#define LONGEST_NS UINT64_C(100000000)

static int stream_is_busy(CUstream stream)
{
    CUstreamCaptureStatus unused;
    return tutti_cuda.StreamIsCapturing(stream, &unused) == CUDA_SUCCESS &&
           tutti_cuda.StreamQuery(stream) == CUDA_ERROR_NOT_READY;
}

static void await_copies(void)
{
    const uint64_t end = tutti_now_ns() + LONGEST_NS;
    while ((stream_is_busy(CU_STREAM_LEGACY) || stream_is_busy(CU_STREAM_PER_THREAD)) && tutti_now_ns() < end)
        ;
}

/* The context is current. */
static void ask_for_complete_copies(int gpu)
{
    unsigned flags;
    CUresult result = tutti_cuda.CtxGetFlags(&flags);
    if (result == CUDA_SUCCESS && flags & TUTTI_CUDA_SYNC_MEMOPS)
        return;
    if (!tutti_cuda.CtxSetFlags)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.CtxSetFlags(flags | TUTTI_CUDA_SYNC_MEMOPS);
    if (result != CUDA_SUCCESS)
        tutti_cuda_declined(result,
                            "making copies within the GPU and fills complete when they return (a driver of CUDA 12.1 "
                            "or later can; otherwise call cudaDeviceSynchronize before MPI)",
                            gpu);
    await_copies();
}

void tutti_cuda_complete_copies(int gpu, CUcontext handle)
{
    CUcontext popped;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* in a capture of the program too */
    tutti_cuda.ThreadExchangeStreamCaptureMode(&mode);
    if (tutti_cuda.CtxPushCurrent(handle) == CUDA_SUCCESS) {
        ask_for_complete_copies(gpu);
        tutti_cuda.CtxPopCurrent(&popped);
    }
    tutti_cuda.ThreadExchangeStreamCaptureMode(&mode);
}
