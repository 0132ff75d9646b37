/* Puts, gets and signals in the order of a stream of the program: put into it, and nothing waited for here. */
#include "core/status.h"
#include "shmem/lane.h"
#include "shmem/space.h"

/* The program's stream as the device knows it; NULL, and it is said why, where it is none of this PE's GPU. */
static struct tutti_stream *wrap(void *handle, const char *call)
{
    const struct tutti_shmem_gpu *gpu = tutti_shmem.gpu;
    struct tutti_stream *stream = NULL;
    if (tutti_shmem.state.pes == 0) {
        tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, call, "the address space is not up: call tshmem_init first");
        return NULL;
    }
    if (!gpu) {
        tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, call,
                         "the heaps are host memory (TUTTI_SHMEM_HEAP), and no stream waits for the host");
        return NULL;
    }
    if (gpu->device->stream_wrap(gpu->gpu, handle, &stream) != TUTTI_OK) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "%p is no stream of GPU %d, where the heap of PE %d lies", handle,
                         gpu->gpu, tutti_shmem.state.me);
        return NULL;
    }
    return stream;
}

/* What was put into the stream stays there. */
static int leave(struct tutti_stream *stream, int status, const char *call)
{
    tutti_shmem.gpu->device->stream_destroy(stream);
    if (status == TUTTI_OK)
        return status;
    return tutti_shmem_fail(status, call, "it could not be put into the stream: %s", tutti_status_text(status));
}

/* `to` and `from` as mapped here; NULL: the address has been refused. */
static int copy(void *to, const void *from, size_t bytes, void *handle, const char *call)
{
    if (bytes == 0)
        return TUTTI_OK;
    struct tutti_stream *stream = to && from ? wrap(handle, call) : NULL;
    if (!stream)
        return TUTTI_ERR_ARGUMENT;
    return leave(stream, to == from ? TUTTI_OK : tutti_shmem.gpu->device->copy(stream, to, from, bytes), call);
}

int tshmem_putmem_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream)
{
    static const char call[] = "tshmem_putmem_on_stream";
    return copy(bytes ? tutti_shmem_near_at(dest, bytes, pe, call) : NULL, source, bytes, stream, call);
}

int tshmem_getmem_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream)
{
    static const char call[] = "tshmem_getmem_on_stream";
    return copy(dest, bytes ? tutti_shmem_near_at(source, bytes, pe, call) : NULL, bytes, stream, call);
}

int tshmem_putmem_signal_on_stream(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value,
                                   int operation, int pe, void *stream)
{
    static const char call[] = "tshmem_putmem_signal_on_stream";
    const int amo = operation == TSHMEM_SIGNAL_ADD ? TSHMEM_AMO_ADD : TSHMEM_AMO_SET;
    uint64_t *at = tutti_shmem_signal_at(signal, operation, pe, call);
    at = at ? tutti_shmem_near_at(signal, sizeof *at, pe, call) : NULL;
    void *to = at && bytes ? tutti_shmem_near_at(dest, bytes, pe, call) : NULL;
    struct tutti_stream *wrapped = at && (to || bytes == 0) ? wrap(stream, call) : NULL;
    if (!wrapped)
        return TUTTI_ERR_ARGUMENT;
    int status = TUTTI_OK;
    if (bytes > 0 && to != source)
        status = tutti_shmem.gpu->device->copy(wrapped, to, source, bytes);
    if (status == TUTTI_OK)
        status = tutti_shmem_lane_amo(wrapped, NULL, amo, at, sizeof *at, value, 0);
    return leave(wrapped, status, call);
}

int tshmem_signal_op_on_stream(uint64_t *signal, uint64_t value, int operation, int pe, void *stream)
{
    return tshmem_putmem_signal_on_stream(NULL, NULL, 0, signal, value, operation, pe, stream);
}
