/* Collectives in stream order that move data or none, and waits. Small ones are one kernel of one block; large ones are
 * moved by several blocks between two kernels that meet. */
#include "core/status.h"
#include "shmem/stream/stream.h"

enum { BLOCK_BYTES = 16 << 10 };

/* 1 where `bytes` bytes at the address are all in the heap, or there are none. */
static int is_symmetric(const void *address, size_t bytes, const char *name)
{
    return bytes == 0 || tutti_shmem_at(address, bytes, tutti_shmem.state.me, name) != NULL;
}

static int members_of(tshmem_team_t team)
{
    const struct tshmem_team_state *state = tutti_shmem_team(team);
    return state ? state->size : 1; /* none: the call says so */
}

/* Refuses what is more than any heap has. */
static size_t times(size_t n, int members)
{
    size_t all;
    return __builtin_mul_overflow(n, (size_t)members, &all) ? SIZE_MAX : all;
}

static int move(const char *name, enum tutti_shmem_what what, tshmem_team_t team, void *dest, size_t dest_bytes,
                const void *source, size_t source_bytes, size_t n, int root, void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.dest = dest, .source = source, .n = n, .root = root, .part = what}};
    if (!is_symmetric(dest, dest_bytes, name) || !is_symmetric(source, source_bytes, name))
        return TUTTI_ERR_ARGUMENT;
    int status = tutti_shmem_stream_begin(&call, name, team, stream);
    if (status != TUTTI_OK)
        return status;
    if (n == 0) /* what address there is may be any */
        call.args.source = call.args.dest = call.args.state.heap;
    const size_t moved = times(n, members_of(team)), blocks = moved / BLOCK_BYTES + 1;
    if (tutti_shmem_stream_small(moved))
        return tutti_shmem_stream_end(&call, tutti_shmem_stream_launch(&call, what, moved, 1), 1);
    status = tutti_shmem_stream_launch(&call, TUTTI_SHMEM_DO_ENTER, 0, 1);
    if (status == TUTTI_OK)
        status = tutti_shmem_stream_launch(&call, TUTTI_SHMEM_DO_MOVE, moved,
                                           blocks < TUTTI_SHMEM_BLOCKS ? (unsigned)blocks : TUTTI_SHMEM_BLOCKS);
    if (status == TUTTI_OK)
        status = tutti_shmem_stream_launch(&call, TUTTI_SHMEM_DO_LEAVE, 0, 1);
    return tutti_shmem_stream_end(&call, status, 0);
}

int tshmem_broadcastmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, int root,
                                  void *stream)
{
    static const char name[] = "tshmem_broadcast_on_stream";
    if (tutti_shmem_team(team) && (root < 0 || root >= members_of(team)))
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "there is no PE %d in a team of %d", root, members_of(team));
    return move(name, TUTTI_SHMEM_DO_BROADCAST, team, dest, bytes, source, bytes, bytes, root, stream);
}

int tshmem_fcollectmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, void *stream)
{
    return move("tshmem_fcollect_on_stream", TUTTI_SHMEM_DO_FCOLLECT, team, dest, times(bytes, members_of(team)),
                source, bytes, bytes, 0, stream);
}

int tshmem_alltoallmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, void *stream)
{
    const size_t all = times(bytes, members_of(team));
    return move("tshmem_alltoall_on_stream", TUTTI_SHMEM_DO_ALLTOALL, team, dest, all, source, all, bytes, 0, stream);
}

/* PEs bring different counts, by which they would not agree on how: always one block. */
int tshmem_collectmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, void *stream)
{
    static const char name[] = "tshmem_collect_on_stream";
    struct tutti_shmem_streamed call = {.args = {.dest = dest, .source = source, .n = bytes}};
    if (!is_symmetric(dest, 1, name) || !is_symmetric(source, bytes, name))
        return TUTTI_ERR_ARGUMENT;
    const int status = tutti_shmem_stream_begin(&call, name, team, stream);
    if (status != TUTTI_OK)
        return status;
    if (bytes == 0)
        call.args.source = call.args.state.heap;
    return tutti_shmem_stream_end(
        &call, tutti_shmem_stream_launch(&call, TUTTI_SHMEM_DO_COLLECT, TUTTI_SHMEM_THREADS * sizeof(uint64_t) * 2, 1),
        1);
}

/* ---- no data ---- */

static int sync_on_stream(const char *name, tshmem_team_t team, void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.dest = tutti_shmem.state.heap, .source = tutti_shmem.state.heap}};
    const int status = tutti_shmem_stream_begin(&call, name, team, stream);
    if (status != TUTTI_OK)
        return status;
    return tutti_shmem_stream_end(&call, tutti_shmem_stream_launch(&call, TUTTI_SHMEM_DO_SYNC, 0, 1), 1);
}

int tshmem_sync_on_stream(tshmem_team_t team, void *stream)
{
    return sync_on_stream("tshmem_sync_on_stream", team, stream);
}

int tshmem_barrier_on_stream(tshmem_team_t team, void *stream)
{
    const int status = tshmem_quiet_on_stream(stream);
    return status == TUTTI_OK ? sync_on_stream("tshmem_barrier_on_stream", team, stream) : status;
}

int tshmem_sync_all_on_stream(void *stream)
{
    return tshmem_sync_on_stream(TSHMEM_TEAM_WORLD, stream);
}

int tshmem_barrier_all_on_stream(void *stream)
{
    return tshmem_barrier_on_stream(TSHMEM_TEAM_WORLD, stream);
}

int tshmem_signal_wait_until_on_stream(uint64_t *signal, int comparison, uint64_t value, void *stream)
{
    static const char name[] = "tshmem_signal_wait_until_on_stream";
    struct tutti_shmem_streamed call = {
        .args = {.dest = signal, .source = signal, .comparison = comparison, .value = value}};
    if (comparison < 0 || comparison >= TSHMEM_COMPARISON_COUNT)
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "%d is no comparison: TSHMEM_CMP_EQ ...", comparison);
    if (!tutti_shmem_signal_at(signal, TSHMEM_SIGNAL_SET, tutti_shmem.state.me, name))
        return TUTTI_ERR_ARGUMENT;
    const int status = tutti_shmem_stream_begin(&call, name, TSHMEM_TEAM_WORLD, stream);
    if (status != TUTTI_OK)
        return status;
    return tutti_shmem_stream_end(&call, tutti_shmem_stream_launch(&call, TUTTI_SHMEM_DO_WAIT, 0, 1), 1);
}
