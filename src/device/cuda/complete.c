/* Synchronous copies and fills of the program. CUDA lets many of them return before they are complete: copies within
 * the GPU, fills, and short copies from pageable memory. Later work of the default stream is ordered behind them, but
 * not Tutti's kernels, which run in streams of their own and on other GPUs: they would read what the copy has not
 * written yet, or it would overwrite their data. An attribute of an allocation makes these calls wait. It is set when
 * a call of the MPI names the allocation for the first time, so the program's other memory is copied as before. Memory
 * of pools belongs to no context, and mappings have no such attribute. There a flag of the context makes all these
 * calls wait: a loop that copies 8 bytes up and launches a kernel takes some microseconds longer by it. */
#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "device/cuda/gpu.h"

/* For copies that began before the flag was set. Not forever: a kernel of the program in the same stream may wait for
 * a peer, which waits for the call that this is part of. No progress is made meanwhile, since the caller may hold
 * locks.
 */
#define LONGEST_NS UINT64_C(100000000)

/* An event of the legacy default stream stands for all streams that synchronise with it, per-thread default streams
 * among them. Any question about CU_STREAM_PER_THREAD makes that stream. The driver destroys it when its thread ends,
 * also in a forked child that calls exit(), where the stream's memory is not mapped: SIGSEGV. */
static void await_copies(void)
{
    CUstreamCaptureStatus unused;
    CUevent behind;
    if (tutti_cuda.StreamIsCapturing(CU_STREAM_LEGACY, &unused) != CUDA_SUCCESS ||
        tutti_cuda.EventCreate(&behind, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return;
    const uint64_t end = tutti_now_ns() + LONGEST_NS;
    if (tutti_cuda.EventRecord(behind, CU_STREAM_LEGACY) == CUDA_SUCCESS)
        while (tutti_cuda.EventQuery(behind) == CUDA_ERROR_NOT_READY && tutti_now_ns() < end)
            ;
    tutti_cuda.EventDestroy(behind);
}

/* The context is current. 0: the driver cannot. */
static int ask_for_complete_copies(int gpu, int fresh)
{
    unsigned flags;
    CUresult result = tutti_cuda.CtxGetFlags(&flags);
    if (result == CUDA_SUCCESS && flags & TUTTI_CUDA_SYNC_MEMOPS)
        return 1;
    if (!tutti_cuda.CtxSetFlags)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.CtxSetFlags(flags | TUTTI_CUDA_SYNC_MEMOPS);
    if (result != CUDA_SUCCESS)
        tutti_cuda_declined(result,
                            "making copies within the GPU and fills complete when they return (a driver of CUDA 12.1 "
                            "or later can; otherwise call cudaDeviceSynchronize before MPI)",
                            gpu);
    if (!fresh)
        await_copies();
    return result == CUDA_SUCCESS;
}

/* The flag of a context. 0: the driver cannot. */
static int complete_copies(int gpu, CUcontext handle, int fresh)
{
    CUcontext popped;
    int complete = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* in a capture of the program too */
    tutti_cuda.ThreadExchangeStreamCaptureMode(&mode);
    if (tutti_cuda.CtxPushCurrent(handle) == CUDA_SUCCESS) {
        complete = ask_for_complete_copies(gpu, fresh);
        tutti_cuda.CtxPopCurrent(&popped);
    }
    tutti_cuda.ThreadExchangeStreamCaptureMode(&mode);
    return complete;
}

/* GPUs whose contexts get the flag: bits. */
static _Atomic uint64_t flagged;
static pthread_mutex_t flag_lock = PTHREAD_MUTEX_INITIALIZER;
_Static_assert(TUTTI_CUDA_GPUS <= 64, "a bit for each");

/* Under flag_lock. */
static void complete_flag(struct tutti_cuda_context *context, int fresh)
{
    if (atomic_load(&context->complete) == TUTTI_CUDA_COMPLETE_SEEN)
        atomic_store(&context->complete, complete_copies(context->gpu, context->handle, fresh)
                                             ? TUTTI_CUDA_COMPLETE_ALL
                                             : TUTTI_CUDA_COMPLETE_NONE);
}

int tutti_cuda_complete_flagged(int gpu)
{
    return (int)(atomic_load_explicit(&flagged, memory_order_acquire) >> gpu & 1);
}

void tutti_cuda_complete_flag(int gpu)
{
    pthread_mutex_lock(&flag_lock);
    atomic_fetch_or(&flagged, UINT64_C(1) << gpu);
    pthread_mutex_unlock(&flag_lock);
}

void tutti_cuda_complete_begin(struct tutti_cuda_context *context, int fresh)
{
    pthread_mutex_lock(&flag_lock);
    if (atomic_load(&flagged) >> context->gpu & 1)
        complete_flag(context, fresh);
    pthread_mutex_unlock(&flag_lock);
}

/* Contexts of the program beside those in which Tutti works, which were asked already: a driver API program such as
 * PyCUDA makes its own beside the primary one. Never freed: there are as many as the program has at a time, since a
 * repeated handle takes its entry. */
struct beside {
    struct beside *next;
    CUcontext handle;
    _Atomic(unsigned long long) id;
};
static _Atomic(struct beside *) besides;
static pthread_mutex_t besides_lock = PTHREAD_MUTEX_INITIALIZER;

static struct beside *beside_find(CUcontext handle)
{
    struct beside *beside = atomic_load_explicit(&besides, memory_order_acquire);
    while (beside && beside->handle != handle)
        beside = beside->next;
    return beside;
}

void tutti_cuda_complete_beside(int gpu, CUcontext handle)
{
    unsigned long long id;
    struct beside *beside = beside_find(handle);
    if (tutti_cuda.CtxGetId(handle, &id) != CUDA_SUCCESS ||
        (beside && atomic_load_explicit(&beside->id, memory_order_acquire) == id))
        return;
    pthread_mutex_lock(&besides_lock);
    complete_copies(gpu, handle, 0);
    beside = beside_find(handle);
    if (beside) {
        atomic_store_explicit(&beside->id, id, memory_order_release);
    } else if ((beside = malloc(sizeof *beside))) { /* without memory the context is asked again */
        beside->next = atomic_load(&besides);
        beside->handle = handle;
        atomic_init(&beside->id, id);
        atomic_store_explicit(&besides, beside, memory_order_release);
    }
    pthread_mutex_unlock(&besides_lock);
}
