/* Order and completion in a stream: later work of the stream starts once earlier operations are ordered, or
 * complete. */
#include "core/status.h"
#include "progress/transport.h"
#include "shmem/far.h"
#include "shmem/here.h"
#include "shmem/stream/stream.h"

/* The host's nonblocking operations that are under way precede the stream's later work. */
static int after_later(struct tutti_shmem *space, struct tutti_stream *stream)
{
    const struct tutti_device *device = space->gpu->device;
    struct tutti_shmem_nbi *later = &space->gpu->nbi[0];
    struct tutti_event *event = NULL;
    if (atomic_load(&later->settled) >= atomic_load(&later->issued))
        return TUTTI_OK;
    const int capturing = device->stream.capturing(stream);
    if (capturing != 0)
        return capturing < 0 ? capturing : TUTTI_OK;
    int status = device->event.create(space->gpu->gpu, &event);
    if (status != TUTTI_OK)
        return status;
    status = device->event.record(event, later->stream);
    if (status == TUTTI_OK)
        status = device->event.wait(stream, event);
    device->event.destroy(event);
    return status;
}

/* The first PE of another node; -1: none exists. */
static int some_far(struct tutti_shmem *space)
{
    for (int pe = 0; pe < space->state.pes; pe++) {
        if (!tutti_shmem_kernels_reach(space, pe))
            return pe;
    }
    return -1;
}

/* Waits for the requests in the ring. */
static int after_ring(struct tutti_shmem *space, enum tutti_shmem_what what, int part, const char *name, void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.part = (uint32_t)part, .asked = {.operation = TSHMEM_RING_QUIET}}};
    call.args.asked.pe = part ? some_far(space) : 0;
    return space->state.ring.slots > 0 ? tutti_shmem_stream_one(space, &call, what, 0, name, stream) : TUTTI_OK;
}

/* Waits for the requests in the ring, and for the host's operations to PEs of other nodes. If no thread of Tutti may
 * poll the wire while the program waits for the stream, the host waits for the latter here. */
static int after_far(struct tutti_shmem *space, const char *name, void *stream)
{
    const int by_ring = space->state.ring.slots > 0 && space->transport->any_thread;
    if (space->wire && !by_ring) {
        const int status = tutti_shmem_far_quiet(space, -1);
        if (status != TUTTI_OK)
            return status;
    }
    return after_ring(space, TUTTI_SHMEM_DO_QUIET, by_ring && some_far(space) >= 0, name, stream);
}

static int after_near(struct tutti_shmem *space, const char *name, void *stream)
{
    struct tutti_stream *wrapped = tutti_shmem_stream_wrap(space, stream, name);
    return wrapped ? tutti_shmem_stream_leave(space, wrapped, after_later(space, wrapped), name)
                   : tutti_shmem_stream_refused(space);
}

/* 1 if requests to near PEs go by the ring, which does not order them. */
static int has_near_requests(struct tutti_shmem *space)
{
    const struct tshmem_ring_state *ring = &space->state.ring;
    int any = ring->elements || ring->atomics;
    for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++)
        any |= ring->cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] != 0;
    return any;
}

/* Operations of the stream itself are complete; operations to a far PE take effect there in the order of their
 * start. */
int tshmem_fence_on_stream(void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char name[] = "tshmem_fence_on_stream";
    const int status = after_near(space, name, stream);
    return status == TUTTI_OK && has_near_requests(space) ? after_ring(space, TUTTI_SHMEM_DO_FENCE, 0, name, stream)
                                                          : status;
}

int tshmem_quiet_on_stream(void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char name[] = "tshmem_quiet_on_stream";
    const int status = after_near(space, name, stream);
    return status == TUTTI_OK ? after_far(space, name, stream) : status;
}

/* Near PEs do not use the wire; the flush covers all far ones. */
int tshmem_pe_quiet_on_stream(int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char name[] = "tshmem_pe_quiet_on_stream";
    if (space->state.pes > 0 && !tshmem_pe_accessible(pe)) {
        tutti_shmem_refuse(space, NULL, 0, pe, name);
        return TUTTI_ERR_ARGUMENT;
    }
    const int status = after_near(space, name, stream);
    if (status != TUTTI_OK)
        return status;
    return tutti_shmem_kernels_reach(space, pe) ? after_ring(space, TUTTI_SHMEM_DO_QUIET, 0, name, stream)
                                                : after_far(space, name, stream);
}
