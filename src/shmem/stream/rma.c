/* Puts, gets and signals in the order of a stream of the program. The host puts them into the stream and does not
 * wait. Near PEs: by the copy engine, and a kernel for the signal; PEs of other nodes: by the ring. */
#include "core/status.h"
#include "shmem/here.h"
#include "shmem/stream/stream.h"

/* A copy into or out of a near heap, as mapped here. */
static int stream_copy(struct tutti_shmem *space, void *to, const void *from, size_t bytes, void *handle,
                       const char *name)
{
    struct tutti_stream *stream = tutti_shmem_stream_wrap(space, handle, name);
    if (!stream)
        return tutti_shmem_stream_refused(space);
    return tutti_shmem_stream_leave(
        space, stream, to == from ? TUTTI_OK : space->gpu->device->stream.copy(stream, to, from, bytes), name);
}

/* later: the stream continues at once, if that is faster. */
static int stream_put(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                      void *stream, const char *name)
{
    void *at = bytes ? tutti_shmem_at(space, dest, bytes, pe, name) : NULL;
    if (!at)
        return bytes ? TUTTI_ERR_ARGUMENT : TUTTI_OK;
    if (!tutti_shmem_is_far(at))
        return stream_copy(space, at, source, bytes, stream, name);
    const struct tutti_shmem_asked asked = {.operation = TSHMEM_RING_PUT,
                                            .dest = tutti_shmem_stream_offset(space, dest),
                                            .source = (uint64_t)(uintptr_t)source,
                                            .bytes = bytes};
    return tutti_shmem_stream_ask(space, &asked, pe, !later, name, stream);
}

static int stream_get(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                      void *stream, const char *name)
{
    const void *at = bytes ? tutti_shmem_at(space, source, bytes, pe, name) : NULL;
    if (!at)
        return bytes ? TUTTI_ERR_ARGUMENT : TUTTI_OK;
    if (!tutti_shmem_is_far(at))
        return stream_copy(space, dest, at, bytes, stream, name);
    const struct tutti_shmem_asked asked = {.operation = TSHMEM_RING_GET,
                                            .dest = (uint64_t)(uintptr_t)dest,
                                            .source = tutti_shmem_stream_offset(space, source),
                                            .bytes = bytes};
    return tutti_shmem_stream_ask(space, &asked, pe, !later, name, stream);
}

int tshmem_putmem_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_put(space, dest, source, bytes, pe, 0, stream, "tshmem_putmem_on_stream");
}

int tshmem_putmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_put(space, dest, source, bytes, pe, 1, stream, "tshmem_putmem_nbi_on_stream");
}

int tshmem_getmem_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_get(space, dest, source, bytes, pe, 0, stream, "tshmem_getmem_on_stream");
}

int tshmem_getmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_get(space, dest, source, bytes, pe, 1, stream, "tshmem_getmem_nbi_on_stream");
}

/* ---- signals ---- */

static int signal_near(struct tutti_shmem *space, void *to, const void *source, size_t bytes, uint64_t *at,
                       uint64_t value, int operation, void *handle, const char *name)
{
    const int amo = operation == TSHMEM_SIGNAL_ADD ? TSHMEM_AMO_ADD : TSHMEM_AMO_SET;
    struct tutti_stream *stream = tutti_shmem_stream_wrap(space, handle, name);
    int status = TUTTI_OK;
    if (!stream)
        return tutti_shmem_stream_refused(space);
    if (bytes > 0 && to != source)
        status = space->gpu->device->stream.copy(stream, to, source, bytes);
    if (status == TUTTI_OK)
        status = tutti_shmem_queue_amo(space, stream, NULL, amo, at, sizeof *at, value, 0);
    return tutti_shmem_stream_leave(space, stream, status, name);
}

static int rma_put_signal(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, uint64_t *signal,
                          uint64_t value, int operation, int pe, int later, void *stream, const char *name)
{
    uint64_t *at = tutti_shmem_signal_at(space, signal, operation, pe, name);
    void *to = at && bytes ? tutti_shmem_at(space, dest, bytes, pe, name) : NULL;
    if (!at || (bytes && !to))
        return TUTTI_ERR_ARGUMENT;
    if (!tutti_shmem_is_far(at))
        return signal_near(space, to, source, bytes, at, value, operation, stream, name);
    const struct tutti_shmem_asked asked = {.operation = TSHMEM_RING_PUT_SIGNAL,
                                            .what = operation,
                                            .dest = bytes ? tutti_shmem_stream_offset(space, dest) : 0,
                                            .source = bytes ? (uint64_t)(uintptr_t)source : 0,
                                            .bytes = bytes,
                                            .value = value,
                                            .compare = tutti_shmem_stream_offset(space, signal)};
    return tutti_shmem_stream_ask(space, &asked, pe, bytes > 0 && !later, name, stream);
}

int tshmem_putmem_signal_on_stream(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value,
                                   int operation, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return rma_put_signal(space, dest, source, bytes, signal, value, operation, pe, 0, stream,
                          "tshmem_putmem_signal_on_stream");
}

int tshmem_putmem_signal_nbi_on_stream(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value,
                                       int operation, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return rma_put_signal(space, dest, source, bytes, signal, value, operation, pe, 1, stream,
                          "tshmem_putmem_signal_nbi_on_stream");
}

int tshmem_signal_set_on_stream(uint64_t *signal, uint64_t value, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return rma_put_signal(space, NULL, NULL, 0, signal, value, TSHMEM_SIGNAL_SET, pe, 0, stream,
                          "tshmem_signal_set_on_stream");
}

int tshmem_signal_add_on_stream(uint64_t *signal, uint64_t value, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return rma_put_signal(space, NULL, NULL, 0, signal, value, TSHMEM_SIGNAL_ADD, pe, 0, stream,
                          "tshmem_signal_add_on_stream");
}

int tshmem_signal_op_on_stream(uint64_t *signal, uint64_t value, int operation, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return rma_put_signal(space, NULL, NULL, 0, signal, value, operation, pe, 0, stream, "tshmem_signal_op_on_stream");
}
