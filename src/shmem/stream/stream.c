#include "shmem/stream/stream.h"

#include "core/status.h"
#include "kernels/shmem_kernel.h"

enum { WARP = 32, LEAST_THREADS = 64, THREAD_BYTES = 16, BLOCK_BYTES = TUTTI_SHMEM_THREADS * THREAD_BYTES };

struct tutti_stream *tutti_shmem_stream_wrap(void *handle, const char *name)
{
    const struct tutti_shmem_gpu *gpu = tutti_shmem.gpu;
    struct tutti_stream *stream = NULL;
    tutti_shmem_stream_look();
    if (tutti_shmem.state.pes == 0)
        tutti_shmem_down(name);
    else if (!gpu)
        tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, name,
                         "the heaps are host memory (TUTTI_SHMEM_HEAP), and no stream waits for the host");
    else if (__atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED))
        tutti_shmem_fail(TUTTI_ERR_BROKEN, name, "%s", tutti_status_text(TUTTI_ERR_BROKEN));
    else if (gpu->device->stream_wrap(gpu->gpu, handle, &stream) != TUTTI_OK)
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "%p is no stream of GPU %d, where the heap of PE %d lies", handle,
                         gpu->gpu, tutti_shmem.state.me);
    else
        return stream;
    return NULL;
}

int tutti_shmem_stream_refused(void)
{
    const struct tshmem_state *state = &tutti_shmem.state;
    return state->pes > 0 && __atomic_load_n(state->abort, __ATOMIC_RELAXED) ? TUTTI_ERR_BROKEN : TUTTI_ERR_ARGUMENT;
}

int tutti_shmem_stream_leave(struct tutti_stream *stream, int status, const char *name)
{
    tutti_shmem.gpu->device->stream_destroy(stream);
    if (status == TUTTI_OK)
        return status;
    return tutti_shmem_fail(status, name, "it could not be put into the stream: %s", tutti_status_text(status));
}

/* 1 where all members are on this node. */
static int is_near(const struct tshmem_team_state *team)
{
    for (int i = 0; i < team->size; i++) {
        if (!tutti_shmem_kernels_reach(tutti_shmem_pe_of(team, i)))
            return 0;
    }
    return 1;
}

static int begin_local(struct tutti_shmem_streamed *call, const char *name, void *stream)
{
    const struct tutti_shmem *space = &tutti_shmem;
    call->name = name;
    call->stream = tutti_shmem_stream_wrap(stream, name);
    if (!call->stream)
        return tutti_shmem_stream_refused();
    call->args.state = space->state;
    call->args.state.area += space->state.area_bytes * TSHMEM_TEAMS_MAX; /* see window.c */
    call->args.error = &space->control[space->state.me]->stream_error;
    if (!call->args.dest)
        call->args.dest = space->state.heap;
    if (!call->args.source)
        call->args.source = space->state.heap;
    return TUTTI_OK;
}

int tutti_shmem_stream_begin(struct tutti_shmem_streamed *call, const char *name, tshmem_team_t team, void *stream)
{
    const struct tutti_shmem *space = &tutti_shmem;
    if (space->state.pes > 0 && !tutti_shmem_team(team))
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "%d is no team of this PE", team);
    const int near = space->state.pes == 0 || is_near(tutti_shmem_team(team));
    if (!near && !tutti_shmem_stream_reaches_far(name))
        return TUTTI_ERR_UNAVAILABLE;
    call->one = !near;
    call->args.team = team;
    return begin_local(call, name, stream);
}

enum tutti_stream_way tutti_shmem_stream_way(size_t bytes, int channel)
{
    int from = tutti_shmem.rules, way;
    do
        way = tutti_rules_next(TUTTI_SECTION_SHMEM_STREAM, bytes, &from);
    while (way == TUTTI_STREAM_CHANNEL && !channel);
    return way < 0 ? TUTTI_STREAM_BLOCK : (enum tutti_stream_way)way;
}

int tutti_shmem_stream_small(const struct tutti_shmem_streamed *call, size_t bytes)
{
    return call->one || tutti_shmem_stream_way(bytes, 0) == TUTTI_STREAM_BLOCK;
}

unsigned tutti_shmem_stream_blocks(size_t bytes)
{
    const size_t blocks = bytes / BLOCK_BYTES + 1;
    return blocks < 2 ? 2 : blocks < TUTTI_SHMEM_BLOCKS ? (unsigned)blocks : TUTTI_SHMEM_BLOCKS;
}

int tutti_shmem_stream_launch(struct tutti_shmem_streamed *call, enum tutti_shmem_what what, size_t bytes,
                              unsigned blocks)
{
    const struct tutti_device *device = tutti_shmem.gpu->device;
    size_t threads = (bytes / blocks / THREAD_BYTES + WARP - 1) / WARP * WARP;
    threads = threads < LEAST_THREADS ? LEAST_THREADS : threads > TUTTI_SHMEM_THREADS ? TUTTI_SHMEM_THREADS : threads;
    if (!device->launch_shmem)
        return tutti_device_missing(device, "launch_shmem");
    call->args.what = what;
    call->args.blocks = blocks;
    return device->launch_shmem(call->stream, &call->args, (unsigned)threads);
}

int tutti_shmem_stream_end(struct tutti_shmem_streamed *call, int status, int whole)
{
    if (status != TUTTI_OK && !whole)
        tutti_shmem_leave_all();
    return tutti_shmem_stream_leave(call->stream, status, call->name);
}

int tutti_shmem_stream_one(struct tutti_shmem_streamed *call, enum tutti_shmem_what what, size_t bytes,
                           const char *name, void *stream)
{
    const int status = begin_local(call, name, stream);
    return status == TUTTI_OK ? tutti_shmem_stream_end(call, tutti_shmem_stream_launch(call, what, bytes, 1), 1)
                              : status;
}

int tutti_shmem_stream_reaches(const void *address)
{
    const struct tutti_shmem_gpu *gpu = tutti_shmem.gpu;
    struct tutti_memory memory;
    if (!gpu)
        return 0;
    gpu->device->classify(address, &memory);
    return memory.kind == TUTTI_MEMORY_DEVICE && (memory.gpu == gpu->gpu || memory.gpu < 0);
}

int tutti_shmem_stream_takes(const void *address, const char *what, const char *name)
{
    if (!tutti_shmem.gpu || tutti_shmem_stream_reaches(address)) /* no GPU: that is said later */
        return 1;
    tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name,
                     "%s, at %p, is for a kernel to reach: it must be memory of GPU %d, as tshmem_malloc gives it",
                     what, address, tutti_shmem.gpu->gpu);
    return 0;
}
