/* Streams that the program made itself, and what holds while they are captured. */
#include <stdlib.h>

#include "core/log.h"
#include "core/status.h"
#include "device/cuda/stream.h"

/* The default streams, which belong to the current context. */
static int is_default(CUstream handle)
{
    return handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

/* The context that the stream was made in, and its GPU. */
static CUresult owner_of(CUstream handle, CUcontext *context, int *gpu)
{
    CUdevice device = -1;
    CUcontext popped;
    CUresult result = tutti_cuda.StreamGetCtx(handle, context);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.CtxPushCurrent(*context);
    if (result != CUDA_SUCCESS)
        return result;
    result = tutti_cuda.CtxGetDevice(&device);
    CUresult left = tutti_cuda.CtxPopCurrent(&popped);
    *gpu = (int)device;
    return result != CUDA_SUCCESS ? result : left;
}

int tutti_cuda_stream_wrap(int gpu, void *handle, struct tutti_stream **out)
{
    struct tutti_cuda_scope scope;
    CUcontext context = NULL;
    int of = gpu >= 0 ? gpu : tutti_cuda_any();
    if (!tutti_cuda_ready())
        return TUTTI_ERR_UNAVAILABLE;
    if (!is_default(handle)) {
        CUresult result = owner_of(handle, &context, &of);
        if (result != CUDA_SUCCESS)
            return tutti_cuda_failed(result, "asking for the GPU of a stream of the program", gpu);
        if (gpu >= 0 && of != gpu)
            return TUTTI_ERR_ARGUMENT;
        tutti_cuda_adopt(of, context);
    }
    int status = tutti_cuda_enter(of, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    struct tutti_cuda_context *entered = scope.context;
    tutti_cuda_leave(&scope);
    if (context && entered->handle != context) {
        tutti_error(
            "a stream of GPU %d belongs to another context than the memory that the program has used there: use "
            "the GPU's primary context for both",
            of);
        return TUTTI_ERR_ARGUMENT;
    }
    struct tutti_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return TUTTI_ERR_MEMORY;
    *stream = (struct tutti_stream){.gpu = of, .wrapped = 1, .context = entered, .handle = handle};
    *out = stream;
    return TUTTI_OK;
}

int tutti_cuda_stream_identity(const struct tutti_stream *stream, int *gpu, void **handle)
{
    *gpu = stream->gpu;
    *handle = stream->handle;
    return TUTTI_OK;
}

int tutti_cuda_stream_order(const struct tutti_stream *stream)
{
    struct tutti_cuda_scope scope;
    unsigned flags = 0;
    if (stream->handle == NULL || stream->handle == CU_STREAM_LEGACY)
        return TUTTI_STREAM_DEFAULT;
    if (stream->handle == CU_STREAM_PER_THREAD)
        return TUTTI_STREAM_BLOCKING;
    int status = tutti_cuda_enter_context(stream->context, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.StreamGetFlags(stream->handle, &flags);
    status = tutti_cuda_check(result, "asking for the kind of a stream", scope.context);
    tutti_cuda_leave(&scope);
    if (status != TUTTI_OK)
        return status;
    return flags & CU_STREAM_NON_BLOCKING ? TUTTI_STREAM_FREE : TUTTI_STREAM_BLOCKING;
}

int tutti_cuda_stream_capturing(struct tutti_stream *stream)
{
    struct tutti_cuda_scope scope;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.StreamIsCapturing(stream->handle, &capture);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) /* the legacy stream, while another one is captured */
        result = CUDA_SUCCESS;
    status = tutti_cuda_check(result, "asking whether a stream is captured", scope.context);
    tutti_cuda_leave(&scope);
    if (status == TUTTI_OK && capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
        tutti_error(
            "the capture of a stream of GPU %d has been made invalid by an earlier call: end it and begin a new one",
            stream->gpu);
        return TUTTI_ERR_DEVICE;
    }
    return status == TUTTI_OK ? capture == CU_STREAM_CAPTURE_STATUS_ACTIVE : status;
}

CUstreamCaptureMode tutti_cuda_relax(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    return tutti_cuda.ThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS ? mode : CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/* Setting a mode fails only after the driver has shut down. */
void tutti_cuda_unrelax(CUstreamCaptureMode mode)
{
    tutti_cuda.ThreadExchangeStreamCaptureMode(&mode);
}
