/* Order and completion in a stream: what comes later in it begins when what came before is in order, or complete. */
#include "core/status.h"
#include "progress/transport.h"
#include "shmem/far.h"
#include "shmem/stream/stream.h"

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

/* The first PE of another node; -1: there is none. */
static int some_far(void)
{
    for (int pe = 0; pe < tutti_shmem.state.pes; pe++) {
        if (!tutti_shmem_kernels_reach(pe))
            return pe;
    }
    return -1;
}

/* What is in the ring. */
static int after_ring(enum tutti_shmem_what what, int part, const char *name, void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.part = (uint32_t)part, .asked = {.operation = TSHMEM_RING_QUIET}}};
    call.args.asked.pe = part ? some_far() : 0;
    return tutti_shmem.state.ring.slots > 0 ? tutti_shmem_stream_one(&call, what, 0, name, stream) : TUTTI_OK;
}

/* What is in the ring, and what the host has begun to PEs of other nodes. Where no thread of Tutti's may bring that on
 * while the program waits for the stream, the host waits for the latter here. */
static int after_far(const char *name, void *stream)
{
    const int by_ring = tutti_shmem.state.ring.slots > 0 && tutti_shmem.transport->any_thread;
    if (tutti_shmem.wire && !by_ring) {
        const int status = tutti_shmem_far_quiet(-1);
        if (status != TUTTI_OK)
            return status;
    }
    return after_ring(TUTTI_SHMEM_DO_QUIET, by_ring && some_far() >= 0, name, stream);
}

static int after_near(const char *name, void *stream)
{
    struct tutti_stream *wrapped = tutti_shmem_stream_wrap(stream, name);
    return wrapped ? tutti_shmem_stream_leave(wrapped, after_later(wrapped), name) : tutti_shmem_stream_refused();
}

/* 1 where requests to near PEs go by the ring, which keeps no order between them. */
static int has_near_requests(void)
{
    const struct tshmem_ring_state *ring = &tutti_shmem.state.ring;
    int any = ring->elements || ring->atomics;
    for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++)
        any |= ring->cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] != 0;
    return any;
}

/* What the stream itself has done is done; what is begun to a far PE takes effect there in that order. */
int tshmem_fence_on_stream(void *stream)
{
    static const char name[] = "tshmem_fence_on_stream";
    const int status = after_near(name, stream);
    return status == TUTTI_OK && has_near_requests() ? after_ring(TUTTI_SHMEM_DO_FENCE, 0, name, stream) : status;
}

int tshmem_quiet_on_stream(void *stream)
{
    static const char name[] = "tshmem_quiet_on_stream";
    const int status = after_near(name, stream);
    return status == TUTTI_OK ? after_far(name, stream) : status;
}

/* A near PE needs nothing of the wire; of far ones all are waited for. */
int tshmem_pe_quiet_on_stream(int pe, void *stream)
{
    static const char name[] = "tshmem_pe_quiet_on_stream";
    if (tutti_shmem.state.pes > 0 && !tshmem_pe_accessible(pe)) {
        tutti_shmem_refuse(NULL, 0, pe, name);
        return TUTTI_ERR_ARGUMENT;
    }
    const int status = after_near(name, stream);
    if (status != TUTTI_OK)
        return status;
    return tutti_shmem_kernels_reach(pe) ? after_ring(TUTTI_SHMEM_DO_QUIET, 0, name, stream) : after_far(name, stream);
}
