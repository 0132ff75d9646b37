/* Puts, gets and signals in the order of a stream of the program: put into it, and nothing waited for here. */
#include "core/status.h"
#include "shmem/stream/stream.h"

/* `to` and `from` as mapped here; NULL: the address has been refused. */
static int copy(void *to, const void *from, size_t bytes, void *handle, const char *call)
{
    if (bytes == 0)
        return TUTTI_OK;
    struct tutti_stream *stream = to && from ? tutti_shmem_stream_wrap(handle, call) : NULL;
    if (!stream)
        return TUTTI_ERR_ARGUMENT;
    return tutti_shmem_stream_leave(
        stream, to == from ? TUTTI_OK : tutti_shmem.gpu->device->copy(stream, to, from, bytes), call);
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
    struct tutti_stream *wrapped = at && (to || bytes == 0) ? tutti_shmem_stream_wrap(stream, call) : NULL;
    if (!wrapped)
        return TUTTI_ERR_ARGUMENT;
    int status = TUTTI_OK;
    if (bytes > 0 && to != source)
        status = tutti_shmem.gpu->device->copy(wrapped, to, source, bytes);
    if (status == TUTTI_OK)
        status = tutti_shmem_lane_amo(wrapped, NULL, amo, at, sizeof *at, value, 0);
    return tutti_shmem_stream_leave(wrapped, status, call);
}

int tshmem_signal_op_on_stream(uint64_t *signal, uint64_t value, int operation, int pe, void *stream)
{
    return tshmem_putmem_signal_on_stream(NULL, NULL, 0, signal, value, operation, pe, stream);
}

/* What is under way by the host's nbi calls comes before the stream's later work. */
static int after_later(struct tutti_stream *stream)
{
    const struct tutti_device *device = tutti_shmem.gpu->device;
    struct tutti_shmem_later *later = &tutti_shmem.gpu->later[0];
    struct tutti_event *event = NULL;
    if (atomic_load(&later->settled) >= atomic_load(&later->issued))
        return TUTTI_OK;
    const int capturing = device->stream_capturing(stream);
    if (capturing != 0)
        return capturing < 0 ? capturing : TUTTI_OK;
    int status = device->event_create(tutti_shmem.gpu->gpu, &event);
    if (status != TUTTI_OK)
        return status;
    status = device->event_record(event, later->stream);
    if (status == TUTTI_OK)
        status = device->event_wait(stream, event);
    device->event_destroy(event);
    return status;
}

int tshmem_quiet_on_stream(void *stream)
{
    static const char call[] = "tshmem_quiet_on_stream";
    struct tutti_stream *wrapped = tutti_shmem_stream_wrap(stream, call);
    if (!wrapped)
        return tutti_shmem_stream_refused();
    return tutti_shmem_stream_leave(wrapped, after_later(wrapped), call);
}
