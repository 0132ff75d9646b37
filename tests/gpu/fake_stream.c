/* The pretended driver's streams and events: everything is done at once, but copies and words that a test wants late.
 */
#include "fake_state.h"

#include <pthread.h>
#include <string.h>

static struct CUstream_st streams[4096]; /* those of contexts that have gone are never destroyed */
static int streams_made;
static CUevent behind_legacy; /* the last event that was recorded in the legacy stream */

static CUstream add(CUcontext context, unsigned flags)
{
    if (streams_made == 4096)
        return NULL;
    streams[streams_made] = (struct CUstream_st){.context = context, .id = context->id, .flags = flags};
    return &streams[streams_made++];
}

void *fake_make_stream(int gpu, unsigned flags)
{
    return add(&fake_primary[gpu], flags);
}

int fake_is_legacy(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY;
}

/* Nobody uses the legacy stream while one that waits for it is captured; whoever tries spoils the capture. */
CUresult fake_used(CUstream stream)
{
    CUstream captured = fake_state.capturing;
    if (!fake_is_legacy(stream) || !captured || captured->flags & CU_STREAM_NON_BLOCKING)
        return CUDA_SUCCESS;
    fake_state.invalidated = 1;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

/* ---- copies and words that are done later, in the order of their calls ---- */

enum { LATER = 256 };
static struct later {
    CUstream stream;
    void *to;
    const void *from; /* NULL: a word */
    size_t bytes;
    cuuint32_t word;
} later[LATER];
static unsigned later_n;
static pthread_mutex_t later_lock = PTHREAD_MUTEX_INITIALIZER;

static int is_same_stream(CUstream a, CUstream b)
{
    return a == b || (fake_is_legacy(a) && fake_is_legacy(b));
}

/* The first `n` of them, or fewer; of one stream, or of all. The lock is held. */
static void later_do(unsigned n, int all, CUstream stream)
{
    unsigned left = 0;
    for (unsigned i = 0; i < later_n; i++) {
        const struct later now = later[i];
        if (i >= n || (!all && !is_same_stream(now.stream, stream)))
            later[left++] = now;
        else if (now.from)
            memmove(now.to, now.from, now.bytes);
        else
            __atomic_store_n((cuuint32_t *)now.to, now.word, __ATOMIC_RELEASE);
    }
    later_n = left;
}

void fake_stream_done(CUstream stream)
{
    pthread_mutex_lock(&later_lock);
    later_do(later_n, 0, stream);
    pthread_mutex_unlock(&later_lock);
}

static void later_add(const struct later *what)
{
    pthread_mutex_lock(&later_lock);
    if (later_n == LATER)
        later_do(LATER / 2, 1, NULL);
    later[later_n++] = *what;
    unsigned long words = 0;
    unsigned from = later_n; /* what comes before the words that are kept, and their copies, is done */
    while (from > 0 && (later[from - 1].from || words < fake_state.late_words))
        words += !later[--from].from;
    later_do(from, 1, NULL);
    pthread_mutex_unlock(&later_lock);
}

void fake_stream_copy(CUstream stream, void *to, const void *from, size_t bytes)
{
    const struct later copy = {.stream = stream, .to = to, .from = from, .bytes = bytes};
    if (fake_state.late_words)
        later_add(&copy);
    else
        memmove(to, from, bytes);
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    CONTEXT();
    if (flags != CU_STREAM_NON_BLOCKING || (priority != -5 && priority != 0))
        return CUDA_ERROR_INVALID_VALUE;
    *out = add(fake_stack[fake_depth - 1], flags);
    fake_objects += *out != NULL;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    STREAM(stream);
    fake_objects--;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    STREAM(stream);
    fake_state.waits++;
    if (fake_is_legacy(stream))
        fake_late_end();
    UNSAFE();
    if (stream && fake_state.capturing == stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const CUresult used = fake_used(stream);
    if (used == CUDA_SUCCESS)
        fake_stream_done(stream);
    return used;
}
EXPORT CUresult cuStreamQuery(CUstream stream)
{
    STREAM(stream);
    fake_state.per_thread += stream == CU_STREAM_PER_THREAD;
    UNSAFE();
    return stream && fake_state.capturing == stream ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
#ifndef FAKE_OLD
EXPORT CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    STREAM(stream);
    if (fake_used(stream) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    const struct memory *memory = fake_find(at);
    if (!memory || memory->kind != FAKE_PINNED || flags != CU_STREAM_WRITE_VALUE_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_is_legacy(stream))
        fake_late_end();
    fake_state.words++;
    const struct later word = {.stream = stream, .to = (void *)at, .word = value};
    if (fake_state.late_words)
        later_add(&word);
    else
        *(cuuint32_t *)at = value;
    return CUDA_SUCCESS;
}
#endif
EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    ENTER();
    if (fake_is_default(stream) || !fake_stream_valid(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    *context = stream->context;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    STREAM(stream);
    *flags = fake_is_default(stream) ? CU_STREAM_DEFAULT : stream->flags;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    STREAM(stream);
    fake_state.per_thread += stream == CU_STREAM_PER_THREAD;
    CUstream captured = fake_state.capturing;
    if (fake_is_legacy(stream) && captured && !(captured->flags & CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = !stream || fake_state.capturing != stream ? CU_STREAM_CAPTURE_STATUS_NONE
              : fake_state.invalidated                  ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode before = now;
    now = *mode;
    *mode = before;
    fake_relaxed = now == CU_STREAM_CAPTURE_MODE_RELAXED;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    STREAM(stream);
    return event && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *with)
{
    STREAM(stream);
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    function(with);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    CONTEXT();
    if (flags & ~(unsigned)CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_VALUE;
    fake_objects++;
    static uintptr_t made;
    *out = (CUevent)++made;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    CONTEXT();
    fake_objects -= event != NULL;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    STREAM(stream);
    const CUresult used = fake_used(stream);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (fake_is_legacy(stream))
        behind_legacy = event;
    if (used != CUDA_SUCCESS)
        return used;
    fake_state.recorded = stream;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventQuery(CUevent event)
{
    UNSAFE();
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (event != behind_legacy || !fake_state.busy)
        return CUDA_SUCCESS;
    fake_state.busy--;
    return CUDA_ERROR_NOT_READY;
}
