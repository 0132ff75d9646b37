/* Copies outside any stream of the program, done on return. Plain copies are part of the legacy default stream. While
 * the program captures a stream that waits for the legacy stream, a plain copy would make the capture invalid. A query
 * of the capture does no harm and comes first. */
#include <string.h>

#include "core/lives.h"
#include "core/status.h"
#include "device/cuda/gate.h"
#include "device/cuda/gpu.h"
#include "progress/gate.h"

enum { SOME = 16 }; /* copies */
enum { IN_ROWS = 2 };
/* Bytes of copies whose end is seen by a word (words.c). Shorter ones into a GPU end as soon otherwise. */
enum { SEEN_IN_LEAST = 1 << 10, SEEN_MOST = 1 << 20 };

/* Whether a copy that has returned is waited for, where the driver may return before the last byte is there. */
enum awaiting {
    AWAIT_NOTHING,
    AWAIT_WORD,        /* complete when the driver returns, and its end may be seen by a word */
    AWAIT_DATA,        /* the same, out of the GPU: its end may be seen by the data too */
    AWAIT_UNLESS_SEEN, /* the memory was classified: not where the driver completes copies of such memory */
    AWAIT_UNLESS_ALL   /* not where it completes all */
};

static int has_to_wait(const struct tutti_cuda_context *context, enum awaiting awaiting)
{
    const int complete = atomic_load_explicit(&context->complete, memory_order_relaxed);
    return awaiting == AWAIT_UNLESS_SEEN ? complete == TUTTI_CUDA_COMPLETE_NONE
                                         : awaiting == AWAIT_UNLESS_ALL && complete != TUTTI_CUDA_COMPLETE_ALL;
}

/* In the default stream of the context, as the program's own copies are. Copies into device memory may return before
 * the last byte is there, but those from pinned memory, and kernels of other streams would not wait for it. */
static CUresult in_default(struct tutti_cuda_context *context, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           enum awaiting awaiting)
{
    CUstreamCaptureStatus unused;
    const int wait = has_to_wait(context, awaiting), word = awaiting == AWAIT_WORD || awaiting == AWAIT_DATA;
    CUresult result = tutti_cuda.StreamIsCapturing(CU_STREAM_LEGACY, &unused);
    if (result == CUDA_SUCCESS && awaiting == AWAIT_DATA && tutti_cuda_can_mark((void *)(uintptr_t)to, from, bytes))
        return tutti_cuda_copy_marked((void *)(uintptr_t)to, from, bytes);
    if (result == CUDA_SUCCESS && word && bytes <= SEEN_MOST && tutti_cuda_has_words(context)) {
        result = tutti_cuda.MemcpyAsync(to, from, bytes, CU_STREAM_LEGACY);
        return result == CUDA_SUCCESS ? tutti_cuda_await_stream(context, CU_STREAM_LEGACY) : result;
    }
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

/* In a stream that waits for no other and takes part in no capture. rows: by a copy of rows (stream.c). */
static int in_own(CUdeviceptr to, CUdeviceptr from, size_t bytes, int rows, struct tutti_cuda_context *context)
{
    CUstream own = atomic_load(&context->beside);
    CUresult result =
        rows ? tutti_cuda_copy_rows(own, to, (const char *)from, bytes) : tutti_cuda.MemcpyAsync(to, from, bytes, own);
    if (result == CUDA_SUCCESS && bytes >= SEEN_IN_LEAST && bytes <= SEEN_MOST && tutti_cuda_has_words(context))
        result = tutti_cuda_await_stream(context, own);
    else if (result == CUDA_SUCCESS)
        result = tutti_cuda.StreamSynchronize(own);
    return tutti_cuda_check(result, "copying in a stream of the library", context);
}

/* 1 if the context has a stream for copies into the GPU, which is made when `some` such copies have been: that takes
 * the driver longer than it saves them. On an H200 a copy of 8 bytes takes 5.6 us in such a stream, 7.2 us as a plain
 * copy, and one of 4 KiB 7.4 and 8.4 us; copies out of the GPU take as long either way. */
static int has_own(struct tutti_cuda_context *context, int some)
{
    if (__builtin_expect(atomic_load_explicit(&context->beside, memory_order_relaxed) != NULL, 1))
        return 1;
    if (atomic_fetch_add_explicit(&context->copies_in, 1, memory_order_relaxed) < some || !tutti_gate_apart_begin())
        return 0; /* or a kernel waits, perhaps for what follows this copy */
    const int status = tutti_cuda_make_beside(context);
    tutti_gate_apart_end();
    return status == TUTTI_OK;
}

/* The gate may wait, and a fiber may be on another thread then, so it is passed outside the scope. A status; on failure
 * the scope has been left. */
static int own_needed(struct tutti_cuda_scope *scope, CUstreamCaptureMode *mode)
{
    struct tutti_cuda_context *const context = scope->context;
    if (atomic_load(&context->beside))
        return TUTTI_OK;
    tutti_cuda_unrelax(*mode);
    tutti_cuda_leave(scope);
    int status = tutti_cuda_gated_make_beside(context);
    if (status == TUTTI_OK)
        status = tutti_cuda_enter_seen(context, scope);
    if (status == TUTTI_OK)
        *mode = tutti_cuda_relax();
    return status;
}

/* in: into memory of the GPU, in no order with the program's streams; IN_ROWS: so that the copy waits for no turn on
 * the GPU (device.h, gpu.turns), which takes far longer than to make a stream. Leaves the scope, which has been
 * entered. */
static int copy_and_leave(struct tutti_cuda_scope *scope, int in, void *to, const void *from, size_t bytes,
                          enum awaiting awaiting)
{
    int status;
    CUstreamCaptureMode mode = tutti_cuda_relax();
    CUresult result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!in || !has_own(scope->context, in == IN_ROWS ? 0 : SOME))
        result = in_default(scope->context, (CUdeviceptr)to, (CUdeviceptr)from, bytes, awaiting);
    const int own = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (own && (status = own_needed(scope, &mode)) != TUTTI_OK)
        return status;
    if (own)
        status = in_own((CUdeviceptr)to, (CUdeviceptr)from, bytes, in == IN_ROWS, scope->context);
    else
        status = tutti_cuda_check(result, "copying", scope->context);
    tutti_cuda_unrelax(mode);
    tutti_cuda_leave(scope);
    return status;
}

static int copy_found(int gpu, int in, void *to, const void *from, size_t bytes, enum awaiting awaiting)
{
    struct tutti_cuda_scope scope;
    if (!bytes)
        return TUTTI_OK;
    const int status = tutti_cuda_enter_found(gpu >= 0 ? gpu : tutti_cuda_any(), &scope);
    return status == TUTTI_OK ? copy_and_leave(&scope, in, to, from, bytes, awaiting) : status;
}

/* Copies between device memory and pinned memory are complete when the driver returns, in both directions. */
int tutti_cuda_copy_pinned(int gpu, int in, void *to, const void *from, size_t bytes)
{
    if (in && tutti_gpu_takes_turns(gpu) && tutti_cuda_goes_in_rows(bytes))
        in = IN_ROWS;
    return copy_found(gpu, in, to, from, bytes, in ? AWAIT_WORD : AWAIT_DATA);
}

/* In the default stream, as a plain copy. */
int tutti_cuda_copy_begin(int gpu, void *to, const void *from, size_t bytes, struct tutti_copying *copying)
{
    struct tutti_cuda_scope scope;
    CUstreamCaptureStatus unused;
    if (tutti_cuda_enter_found(gpu, &scope) != TUTTI_OK)
        return TUTTI_ERR_UNAVAILABLE;
    const CUstreamCaptureMode mode = tutti_cuda_relax();
    CUresult result = tutti_cuda.StreamIsCapturing(CU_STREAM_LEGACY, &unused);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.MemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, CU_STREAM_LEGACY);
    tutti_cuda_unrelax(mode);
    tutti_cuda_leave(&scope);
    *copying = (struct tutti_copying){.context = scope.context};
    return result == CUDA_SUCCESS ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
}

int tutti_cuda_copy_end(struct tutti_copying *copying)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter_seen(copying->context, &scope);
    if (status != TUTTI_OK)
        return status;
    const CUstreamCaptureMode mode = tutti_cuda_relax();
    status = tutti_cuda_check(tutti_cuda.StreamSynchronize(CU_STREAM_LEGACY), "copying", scope.context);
    tutti_cuda_unrelax(mode);
    tutti_cuda_leave(&scope);
    return status;
}

/* Copies from device memory are. Copies into it are where the driver makes synchronous copies complete (complete.c). */
int tutti_cuda_copy_ordinary(int gpu, int in, void *to, const void *from, size_t bytes)
{
    return copy_found(gpu, in, to, from, bytes, AWAIT_UNLESS_SEEN);
}

int tutti_cuda_copy_now(void *to, const void *from, size_t bytes)
{
    struct tutti_cuda_scope scope;
    struct tutti_memory into, out_of;
    if (!bytes)
        return TUTTI_OK;
    int complete;
    tutti_cuda_kind(to, &into, &complete);
    tutti_cuda_kind(from, &out_of, NULL);
    if (into.kind == TUTTI_MEMORY_HOST && out_of.kind == TUTTI_MEMORY_HOST) {
        memcpy(to, from, bytes);
        return TUTTI_OK;
    }
    const int gpu = into.gpu >= 0 ? into.gpu : out_of.gpu >= 0 ? out_of.gpu : tutti_cuda_any();
    const int is_there = into.kind == TUTTI_MEMORY_HOST || (into.kind == TUTTI_MEMORY_DEVICE && complete) ||
                         (into.kind == TUTTI_MEMORY_DEVICE && out_of.kind == TUTTI_MEMORY_PINNED) ||
                         (into.kind == TUTTI_MEMORY_PINNED && out_of.kind == TUTTI_MEMORY_DEVICE);
    const int status = tutti_cuda_enter(gpu, 1, &scope);
    return status == TUTTI_OK ? copy_and_leave(&scope, 0, to, from, bytes, is_there ? AWAIT_NOTHING : AWAIT_UNLESS_ALL)
                              : status;
}
