#include <stdlib.h>

#include "core/log.h"
#include "core/status.h"
#include "device/cuda/stream.h"

/* An event of a context that no longer exists is dropped. Its next use creates it in the GPU's next context. */
struct tutti_event {
    int gpu;
    struct tutti_cuda_context *context;
    CUevent handle;
};

static CUresult stream_make(CUstream *out)
{
    int least = 0, greatest = 0;
    CUresult result = tutti_cuda.CtxGetStreamPriorityRange(&least, &greatest);
    if (result != CUDA_SUCCESS)
        return result;
    return tutti_cuda.StreamCreateWithPriority(out, CU_STREAM_NON_BLOCKING, greatest);
}

int tutti_cuda_enter_stream(struct tutti_stream *stream, struct tutti_cuda_scope *scope)
{
    if (tutti_cuda_enter_context(stream->context, scope) == TUTTI_OK)
        return TUTTI_OK;
    if (stream->wrapped) {
        tutti_error("a stream of the program has gone with its context: make another communicator for a new stream");
        return TUTTI_ERR_DEVICE;
    }
    int status = tutti_cuda_enter(stream->gpu, 0, scope);
    if (status != TUTTI_OK)
        return status;
    if (scope->context == stream->context)
        return TUTTI_OK;
    CUstream handle = NULL;
    status = tutti_cuda_check(stream_make(&handle), "making a stream", scope->context);
    if (status != TUTTI_OK) {
        tutti_cuda_leave(scope);
        return status;
    }
    stream->handle = handle;
    stream->context = scope->context;
    return TUTTI_OK;
}

int tutti_cuda_stream_create(int gpu, struct tutti_stream **out)
{
    struct tutti_cuda_scope scope;
    struct tutti_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return TUTTI_ERR_MEMORY;
    int status = tutti_cuda_enter(gpu < 0 ? tutti_cuda_any() : gpu, 1, &scope);
    if (status != TUTTI_OK) {
        free(stream);
        return status;
    }
    stream->gpu = scope.context->gpu;
    stream->context = scope.context;
    status = tutti_cuda_check(stream_make(&stream->handle), "making a stream", scope.context);
    tutti_cuda_leave(&scope);
    if (status != TUTTI_OK) {
        free(stream);
        return status;
    }
    *out = stream;
    return TUTTI_OK;
}

int tutti_cuda_stream_destroy(struct tutti_stream *stream)
{
    struct tutti_cuda_scope scope;
    int status = TUTTI_OK;
    if (!stream)
        return TUTTI_OK;
    if (!stream->wrapped && tutti_cuda_enter_context(stream->context, &scope) == TUTTI_OK) {
        status = tutti_cuda_check_free(tutti_cuda.StreamDestroy(stream->handle), "destroying a stream", scope.context);
        tutti_cuda_leave(&scope);
    }
    free(stream);
    return status;
}

/* A stream whose context no longer exists has no work that could complete: there is nothing to wait for. */
int tutti_cuda_stream_sync(struct tutti_stream *stream)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter_context(stream->context, &scope);
    if (status != TUTTI_OK)
        return status;
    CUstreamCaptureMode mode = tutti_cuda_relax();
    CUresult result = tutti_cuda.StreamSynchronize(stream->handle);
    tutti_cuda_unrelax(mode);
    status = tutti_cuda_check(result, "waiting for a stream", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

static int done_of(CUresult result, const char *what, struct tutti_cuda_context *context)
{
    if (result == CUDA_ERROR_NOT_READY)
        return 0;
    int status = tutti_cuda_check(result, what, context);
    return status == TUTTI_OK ? 1 : status;
}

int tutti_cuda_stream_query(struct tutti_stream *stream)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter_context(stream->context, &scope);
    if (status != TUTTI_OK)
        return status;
    CUstreamCaptureMode mode = tutti_cuda_relax();
    CUresult result = tutti_cuda.StreamQuery(stream->handle);
    tutti_cuda_unrelax(mode);
    status = done_of(result, "asking a stream", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_event_create(int gpu, struct tutti_event **out)
{
    struct tutti_cuda_scope scope;
    struct tutti_event *event = calloc(1, sizeof *event);
    if (!event)
        return TUTTI_ERR_MEMORY;
    int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status != TUTTI_OK) {
        free(event);
        return status;
    }
    event->gpu = gpu;
    event->context = scope.context;
    CUresult result = tutti_cuda.EventCreate(&event->handle, CU_EVENT_DISABLE_TIMING);
    status = tutti_cuda_check(result, "making an event", scope.context);
    tutti_cuda_leave(&scope);
    if (status != TUTTI_OK) {
        free(event);
        return status;
    }
    *out = event;
    return TUTTI_OK;
}

int tutti_cuda_event_destroy(struct tutti_event *event)
{
    struct tutti_cuda_scope scope;
    int status = TUTTI_OK;
    if (!event)
        return TUTTI_OK;
    if (tutti_cuda_enter_context(event->context, &scope) == TUTTI_OK) {
        status = tutti_cuda_check_free(tutti_cuda.EventDestroy(event->handle), "destroying an event", scope.context);
        tutti_cuda_leave(&scope);
    }
    free(event);
    return status;
}

/* In the context that is entered. */
static CUresult event_follow(struct tutti_event *event, struct tutti_cuda_context *context)
{
    CUevent handle = NULL;
    if (event->context == context)
        return CUDA_SUCCESS;
    CUresult result = tutti_cuda.EventCreate(&handle, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS) {
        event->handle = handle;
        event->context = context;
    }
    return result;
}

int tutti_cuda_event_record(struct tutti_event *event, struct tutti_stream *stream)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = CUDA_SUCCESS;
    if (event->gpu != stream->gpu)
        status = TUTTI_ERR_ARGUMENT;
    else
        result = event_follow(event, scope.context);
    if (status == TUTTI_OK && result == CUDA_SUCCESS)
        result = tutti_cuda.EventRecord(event->handle, stream->handle);
    if (status == TUTTI_OK)
        status = tutti_cuda_check(result, "recording an event", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

/* A query of the capture does no harm and comes first, as in now.c. */
int tutti_cuda_event_record_default(struct tutti_event *event)
{
    struct tutti_cuda_scope scope;
    CUstreamCaptureStatus unused;
    int status = tutti_cuda_enter(event->gpu, 0, &scope);
    if (status != TUTTI_OK)
        return status;
    CUstreamCaptureMode mode = tutti_cuda_relax();
    CUresult result = tutti_cuda.StreamIsCapturing(CU_STREAM_LEGACY, &unused);
    if (result == CUDA_SUCCESS)
        result = event_follow(event, scope.context);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.EventRecord(event->handle, CU_STREAM_LEGACY);
    tutti_cuda_unrelax(mode);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        status = TUTTI_ERR_UNAVAILABLE;
    else
        status = tutti_cuda_check(result, "recording an event in the default stream", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_event_wait(struct tutti_stream *stream, struct tutti_event *event)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter_context(event->context, &scope);
    if (status != TUTTI_OK)
        return status;
    tutti_cuda_leave(&scope);
    status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.StreamWaitEvent(stream->handle, event->handle, 0);
    status = tutti_cuda_check(result, "waiting for an event", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_event_query(struct tutti_event *event)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter_context(event->context, &scope);
    if (status != TUTTI_OK)
        return status;
    CUstreamCaptureMode mode = tutti_cuda_relax();
    CUresult result = tutti_cuda.EventQuery(event->handle);
    tutti_cuda_unrelax(mode);
    status = done_of(result, "asking an event", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes)
{
    struct tutti_cuda_scope scope;
    if (!bytes)
        return TUTTI_OK;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.MemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream->handle);
    status = tutti_cuda_check(result, "copying", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_land(struct tutti_stream *stream, void *to, const void *from, size_t bytes, void *word, uint32_t value)
{
    struct tutti_cuda_scope scope;
    if (!tutti_cuda.StreamWriteValue32)
        return TUTTI_ERR_UNAVAILABLE;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    const CUstreamCaptureMode mode = tutti_cuda_relax();
    CUresult result = tutti_cuda.MemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream->handle);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.StreamWriteValue32(stream->handle, (CUdeviceptr)word, value, CU_STREAM_WRITE_VALUE_DEFAULT);
    const int without_word = result == CUDA_ERROR_NOT_SUPPORTED;
    if (without_word) /* the copy is under way */
        result = tutti_cuda.StreamSynchronize(stream->handle);
    tutti_cuda_unrelax(mode);
    status = tutti_cuda_check(result, "copying", scope.context);
    if (without_word && status == TUTTI_OK)
        status = TUTTI_ERR_UNAVAILABLE;
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_fill(struct tutti_stream *stream, void *device, int byte, size_t bytes)
{
    struct tutti_cuda_scope scope;
    if (!bytes)
        return TUTTI_OK;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.MemsetD8Async((CUdeviceptr)device, (unsigned char)byte, bytes, stream->handle);
    status = tutti_cuda_check(result, "filling", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_call(struct tutti_stream *stream, void (*function)(void *with), void *with)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.LaunchHostFunc(stream->handle, function, with);
    status = tutti_cuda_check(result, "calling the host in stream order", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}
