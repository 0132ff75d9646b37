/* Atomics in stream order: one thread of a kernel does it, or asks the ring. */
#include "shmem/here.h"
#include "shmem/stream/stream.h"

static int stream_amo(struct tutti_shmem *space, int operation, void *fetched, void *dest, size_t bytes, uint64_t value,
                      uint64_t compare, int pe, const char *name, void *stream)
{
    const int what = operation & ~TSHMEM_AMO_NO_FETCH, fetches = what == operation && what != TSHMEM_AMO_SET;
    struct tutti_shmem_streamed call = {
        .args = {.op = operation, .dest = dest, .size = (uint32_t)bytes, .element = {value, compare}, .pe = pe}};
    if (what < 0 || what > TSHMEM_AMO_ADD_FLOAT || (bytes != sizeof(uint32_t) && bytes != sizeof(uint64_t)))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "operation %d on %zu bytes is no atomic", operation,
                                bytes);
    if ((uintptr_t)dest % bytes != 0 || (fetches && (uintptr_t)fetched % bytes != 0))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "%p is not aligned to %zu bytes",
                                (uintptr_t)dest % bytes != 0 ? dest : fetched, bytes);
    const void *const at = tutti_shmem_at(space, dest, bytes, pe, name);
    if (!at || (fetches && !tutti_shmem_stream_takes(space, fetched, "what is fetched", name)))
        return TUTTI_ERR_ARGUMENT;
    if (tutti_shmem_is_far(at) && !tutti_shmem_stream_reaches_far(space, name))
        return TUTTI_ERR_UNAVAILABLE;
    if (fetches) {
        call.args.own[TUTTI_SHMEM_OWN_ANSWER].at = fetched;
        call.args.own[TUTTI_SHMEM_OWN_ANSWER].bytes = bytes;
    }
    return tutti_shmem_stream_one(space, &call, TUTTI_SHMEM_DO_AMO, 0, name, stream);
}

int tutti_shmem_amo_on_stream(int operation, void *fetched, void *dest, size_t bytes, uint64_t value, uint64_t compare,
                              int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_amo(space, operation, fetched, dest, bytes, value, compare, pe, "an atomic in a stream", stream);
}

int tshmem_signal_fetch_on_stream(uint64_t *fetched, const uint64_t *signal, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_amo(space, TSHMEM_AMO_FETCH, fetched, (void *)(uintptr_t)signal, sizeof *signal, 0, 0,
                      space->state.me, "tshmem_signal_fetch_on_stream", stream);
}
