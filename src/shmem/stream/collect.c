/* Collectives in stream order that move data, or nothing. If the team has a channel, they go through it (flow.h) up
 * to the size of the rules' section shmem_move. Otherwise they are one kernel: of one block for small ones, of
 * several for large ones. */
#include "core/status.h"
#include "shmem/here.h"
#include "shmem/stream/flow.h"

/* 1 if all `bytes` bytes at the address are in the heap, or none exist. */
static int collect_is_symmetric(struct tutti_shmem *space, const void *address, size_t bytes, const char *name)
{
    return bytes == 0 || tutti_shmem_at(space, address, bytes, space->state.me, name) != NULL;
}

static int members_of(struct tutti_shmem *space, tshmem_team_t team)
{
    const struct tshmem_team_state *state = tutti_shmem_team(space, team);
    return state ? state->size : 1; /* none: the call reports it */
}

/* Refuses more bytes than any heap has. */
static size_t bytes_times(size_t n, int members)
{
    size_t all;
    return __builtin_mul_overflow(n, (size_t)members, &all) ? SIZE_MAX : all;
}

/* args: dest and source with the bytes that the call reaches there, n, and the other arguments of the kernel. moved:
 * bytes that this PE stores. */
static int collect_put(struct tutti_shmem *space, struct tutti_shmem_streamed *call, const char *name,
                       enum tutti_shmem_what what, tshmem_team_t team, size_t dest_bytes, size_t source_bytes,
                       size_t moved, void *stream)
{
    if (!collect_is_symmetric(space, call->args.dest, dest_bytes, name) ||
        !collect_is_symmetric(space, call->args.source, source_bytes, name))
        return TUTTI_ERR_ARGUMENT;
    if (call->args.n == 0) /* any address is fine */
        call->args.source = call->args.dest = NULL;
    call->kind = TUTTI_STREAM_MOVES;
    int status = tutti_shmem_stream_begin(space, call, name, team, stream);
    if (status != TUTTI_OK)
        return status;
    if (call->args.n > 0 && what != TUTTI_SHMEM_DO_ALLTOALLS && tutti_shmem_flow_takes(space, call, moved)) {
        status = tutti_shmem_flow_put(space, call, what);
        if (status != TUTTI_ERR_UNAVAILABLE)
            return tutti_shmem_stream_end(space, call, status, 0);
    }
    if (tutti_shmem_stream_small(space, call, moved))
        return tutti_shmem_stream_end(space, call, tutti_shmem_stream_launch(space, call, what, moved, 1), 1);
    return tutti_shmem_stream_end(
        space, call, tutti_shmem_stream_launch(space, call, what, moved, tutti_shmem_stream_blocks(moved)), 1);
}

static int stream_move(struct tutti_shmem *space, const char *name, enum tutti_shmem_what what, tshmem_team_t team,
                       void *dest, size_t dest_bytes, const void *source, size_t source_bytes, size_t n, int root,
                       void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.dest = dest, .source = source, .n = n, .root = root}};
    return collect_put(space, &call, name, what, team, dest_bytes, source_bytes,
                       bytes_times(n, members_of(space, team)), stream);
}

int tshmem_broadcastmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, int root,
                                  void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char name[] = "tshmem_broadcast_on_stream";
    if (tutti_shmem_team(space, team) && (root < 0 || root >= members_of(space, team)))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "there is no PE %d in a team of %d", root,
                                members_of(space, team));
    return stream_move(space, name, TUTTI_SHMEM_DO_BROADCAST, team, dest, bytes, source, bytes, bytes, root, stream);
}

int tshmem_fcollectmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_move(space, "tshmem_fcollect_on_stream", TUTTI_SHMEM_DO_FCOLLECT, team, dest,
                       bytes_times(bytes, members_of(space, team)), source, bytes, bytes, 0, stream);
}

int tshmem_alltoallmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const size_t all = bytes_times(bytes, members_of(space, team));
    return stream_move(space, "tshmem_alltoall_on_stream", TUTTI_SHMEM_DO_ALLTOALL, team, dest, all, source, all, bytes,
                       0, stream);
}

/* From the first to the last of n elements, `stride` apart. */
static size_t collect_strided_reach(size_t n, ptrdiff_t stride, size_t bytes)
{
    size_t last, all;
    if (n == 0)
        return 0;
    if (__builtin_mul_overflow(n - 1, (size_t)stride, &last) || __builtin_mul_overflow(last + 1, bytes, &all))
        return SIZE_MAX;
    return all;
}

int tutti_shmem_alltoalls_on_stream(tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                    size_t n, size_t bytes, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char name[] = "tshmem_alltoalls_on_stream";
    const size_t all = bytes_times(n, members_of(space, team));
    struct tutti_shmem_streamed call = {
        .args = {.dest = dest, .source = source, .n = n, .size = (uint32_t)bytes, .dst = dst, .sst = sst}};
    if (dst < 1 || sst < 1)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "strides of %td and %td elements: they begin with 1",
                                dst, sst);
    return collect_put(space, &call, name, TUTTI_SHMEM_DO_ALLTOALLS, team, collect_strided_reach(all, dst, bytes),
                       collect_strided_reach(all, sst, bytes), bytes_times(all, (int)bytes), stream);
}

/* PEs have different counts, so they could not agree by size: always one block. */
int tshmem_collectmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char name[] = "tshmem_collect_on_stream";
    struct tutti_shmem_streamed call = {.args = {.dest = dest, .source = source, .n = bytes}};
    if (!collect_is_symmetric(space, dest, bytes > 0 || dest, name) ||
        !collect_is_symmetric(space, source, bytes, name))
        return TUTTI_ERR_ARGUMENT;
    const int status = tutti_shmem_stream_begin(space, &call, name, team, stream);
    if (status != TUTTI_OK)
        return status;
    if (bytes == 0)
        call.args.source = call.args.state.heap;
    if (!dest) /* others contribute, but there is no room here */
        call.args.dest = call.args.state.heap + call.args.state.heap_bytes;
    return tutti_shmem_stream_end(
        space, &call,
        tutti_shmem_stream_launch(space, &call, TUTTI_SHMEM_DO_COLLECT, TUTTI_SHMEM_THREADS * sizeof(uint64_t) * 2, 1),
        1);
}

/* ---- no data ---- */

static int sync_on_stream(struct tutti_shmem *space, const char *name, tshmem_team_t team, void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.dest = space->state.heap, .source = space->state.heap}};
    const int status = tutti_shmem_stream_begin(space, &call, name, team, stream);
    if (status != TUTTI_OK)
        return status;
    if (tutti_shmem_flow_takes(space, &call, 0)) {
        const int put = tutti_shmem_flow_put(space, &call, TUTTI_SHMEM_DO_SYNC);
        if (put != TUTTI_ERR_UNAVAILABLE)
            return tutti_shmem_stream_end(space, &call, put, 0);
    }
    return tutti_shmem_stream_end(space, &call, tutti_shmem_stream_launch(space, &call, TUTTI_SHMEM_DO_SYNC, 0, 1), 1);
}

int tshmem_sync_on_stream(tshmem_team_t team, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return sync_on_stream(space, "tshmem_sync_on_stream", team, stream);
}

int tshmem_barrier_on_stream(tshmem_team_t team, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const int status = tshmem_quiet_on_stream(stream);
    return status == TUTTI_OK ? sync_on_stream(space, "tshmem_barrier_on_stream", team, stream) : status;
}

int tshmem_sync_all_on_stream(void *stream)
{
    return tshmem_sync_on_stream(TSHMEM_TEAM_WORLD, stream);
}

int tshmem_barrier_all_on_stream(void *stream)
{
    return tshmem_barrier_on_stream(TSHMEM_TEAM_WORLD, stream);
}
