#include "shmem/stream/stream.h"

#include "core/status.h"
#include "kernels/shmem_kernel.h"

enum { WARP = 32, LEAST_THREADS = 64, THREAD_BYTES = 16, BLOCK_BYTES = TUTTI_SHMEM_THREADS * THREAD_BYTES };

struct tutti_stream *tutti_shmem_stream_wrap(struct tutti_shmem *space, void *handle, const char *name)
{
    const struct tutti_shmem_gpu *gpu = space->gpu;
    struct tutti_stream *stream = NULL;
    tutti_shmem_stream_look(space);
    if (space->state.pes == 0)
        tutti_shmem_down(space, name);
    else if (!gpu)
        tutti_shmem_fail(space, TUTTI_ERR_UNAVAILABLE, name,
                         "the heaps are host memory (TUTTI_SHMEM_HEAP), and no stream waits for the host");
    else if (__atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        tutti_shmem_fail(space, TUTTI_ERR_BROKEN, name, "%s", tutti_status_text(TUTTI_ERR_BROKEN));
    else if (gpu->device->stream.wrap(gpu->gpu, handle, &stream) != TUTTI_OK)
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "%p is no stream of GPU %d, where the heap of PE %d lies",
                         handle, gpu->gpu, space->state.me);
    else
        return stream;
    return NULL;
}

int tutti_shmem_stream_refused(struct tutti_shmem *space)
{
    const struct tshmem_state *state = &space->state;
    return state->pes > 0 && __atomic_load_n(state->abort, __ATOMIC_RELAXED) ? TUTTI_ERR_BROKEN : TUTTI_ERR_ARGUMENT;
}

int tutti_shmem_stream_leave(struct tutti_shmem *space, struct tutti_stream *stream, int status, const char *name)
{
    space->gpu->device->stream.destroy(stream);
    if (status == TUTTI_OK)
        return status;
    return tutti_shmem_fail(space, status, name, "it could not be put into the stream: %s", tutti_status_text(status));
}

/* 1 if all members are on this node. */
static int stream_is_near(struct tutti_shmem *space, const struct tshmem_team_state *team)
{
    for (int i = 0; i < team->size; i++) {
        if (!tutti_shmem_kernels_reach(space, tutti_shmem_pe_of(space, team, i)))
            return 0;
    }
    return 1;
}

static int begin_local(struct tutti_shmem *space, struct tutti_shmem_streamed *call, const char *name, void *stream)
{
    call->name = name;
    call->stream = tutti_shmem_stream_wrap(space, stream, name);
    if (!call->stream)
        return tutti_shmem_stream_refused(space);
    call->args.state = space->state;
    call->args.state.area += space->state.area_bytes * TSHMEM_TEAMS_MAX; /* see window.c */
    call->args.error = &space->control[space->state.me]->stream_error;
    if (!call->args.dest)
        call->args.dest = space->state.heap;
    if (!call->args.source)
        call->args.source = space->state.heap;
    return TUTTI_OK;
}

int tutti_shmem_stream_begin(struct tutti_shmem *space, struct tutti_shmem_streamed *call, const char *name,
                             tshmem_team_t team, void *stream)
{
    if (space->state.pes > 0 && !tutti_shmem_team(space, team))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "%d is no team of this PE", team);
    const int near = space->state.pes == 0 || stream_is_near(space, tutti_shmem_team(space, team));
    if (!near && !tutti_shmem_stream_reaches_far(space, name))
        return TUTTI_ERR_UNAVAILABLE;
    call->one = !near;
    call->args.team = team;
    return begin_local(space, call, name, stream);
}

int tutti_shmem_stream_small(struct tutti_shmem *space, const struct tutti_shmem_streamed *call, size_t bytes)
{
    return call->one || tutti_shmem_stream_way(space->rules, call->kind, bytes, 0) == TUTTI_STREAM_BLOCK;
}

unsigned tutti_shmem_stream_blocks(size_t bytes)
{
    const size_t blocks = bytes / BLOCK_BYTES + 1;
    return blocks < 2 ? 2 : blocks < TUTTI_SHMEM_BLOCKS ? (unsigned)blocks : TUTTI_SHMEM_BLOCKS;
}

int tutti_shmem_stream_launch(struct tutti_shmem *space, struct tutti_shmem_streamed *call, enum tutti_shmem_what what,
                              size_t bytes, unsigned blocks)
{
    const struct tutti_device *device = space->gpu->device;
    size_t threads = (bytes / blocks / THREAD_BYTES + WARP - 1) / WARP * WARP;
    threads = threads < LEAST_THREADS ? LEAST_THREADS : threads > TUTTI_SHMEM_THREADS ? TUTTI_SHMEM_THREADS : threads;
    if (!device->launch.shmem)
        return tutti_device_missing(device, "launch.shmem");
    call->args.what = what;
    call->args.blocks = blocks;
    return device->launch.shmem(call->stream, &call->args, (unsigned)threads);
}

int tutti_shmem_stream_end(struct tutti_shmem *space, struct tutti_shmem_streamed *call, int status, int whole)
{
    if (status != TUTTI_OK && !whole)
        tutti_shmem_leave_all(space);
    return tutti_shmem_stream_leave(space, call->stream, status, call->name);
}

int tutti_shmem_stream_one(struct tutti_shmem *space, struct tutti_shmem_streamed *call, enum tutti_shmem_what what,
                           size_t bytes, const char *name, void *stream)
{
    const int status = begin_local(space, call, name, stream);
    return status == TUTTI_OK
               ? tutti_shmem_stream_end(space, call, tutti_shmem_stream_launch(space, call, what, bytes, 1), 1)
               : status;
}

int tutti_shmem_stream_reaches(struct tutti_shmem *space, const void *address)
{
    const struct tutti_shmem_gpu *gpu = space->gpu;
    struct tutti_memory memory;
    if (!gpu)
        return 0;
    gpu->device->memory.classify(address, &memory);
    return memory.kind == TUTTI_MEMORY_DEVICE && (memory.gpu == gpu->gpu || memory.gpu < 0);
}

int tutti_shmem_stream_takes(struct tutti_shmem *space, const void *address, const char *what, const char *name)
{
    if (!space->gpu || tutti_shmem_stream_reaches(space, address)) /* no GPU: reported later */
        return 1;
    tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name,
                     "%s, at %p, is for a kernel to reach: it must be memory of GPU %d, as tshmem_malloc gives it",
                     what, address, space->gpu->gpu);
    return 0;
}
