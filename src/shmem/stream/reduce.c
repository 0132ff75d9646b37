/* Reductions and scans in stream order. If the team has a channel, they go through it (flow.h). Otherwise small ones
 * are one kernel of one block, larger ones one of several. The largest are the kernel of the algorithm `direct` on
 * this PE's slice of all members' sources, between two kernels that meet. */
#include "core/status.h"
#include "core/types.h"
#include "shmem/gpu.h"
#include "shmem/here.h"
#include "shmem/host.h"
#include "shmem/move.h"
#include "shmem/stream/flow.h"

enum { SPREAD_BYTES = 2 << 20 }; /* bytes of a slice: from 4 MiB on `direct` takes as long, then less */

/* The kernels' type for an element; 0, after an error message, if none exists. */
static size_t reduce_size_of(struct tutti_shmem *space, int type, int op, const char *name)
{
    if (type >= 0 && type < TSHMEM_ID_LONGDOUBLE && op >= 0 && op < TSHMEM_OPS &&
        tutti_has_kernel(type, tutti_shmem_operator(op)))
        return tutti_type_size(type);
    tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "type %d is not reduced by operation %d in a stream", type, op);
    return 0;
}

static int reduce_is_symmetric(struct tutti_shmem *space, const void *address, size_t n, size_t size, const char *name)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    return n == 0 || tutti_shmem_at(space, address, bytes, space->state.me, name) != NULL;
}

/* The slice of this PE; its part of the first result of an exclusive scan is zero. */
static int stream_reduce_slices(struct tutti_shmem *space, struct tutti_shmem_streamed *call, enum tutti_shape shape)
{
    const struct tutti_shmem_args *args = &call->args;
    struct tutti_shmem_job job = {.type = args->type, .op = args->op, .shape = shape};
    void *zero;
    const size_t bytes = tutti_shmem_slices(space, &job, tutti_shmem_team(space, args->team),
                                            tutti_shmem_stream_offset(space, args->dest),
                                            tutti_shmem_stream_offset(space, args->source), args->n, &zero);
    int status = bytes > 0 ? tutti_shmem_gpu_launch(space, call->stream, &job) : TUTTI_OK;
    if (status == TUTTI_OK && zero)
        status = space->gpu->device->stream.fill(call->stream, zero, 0, bytes);
    return status;
}

/* Its block of all sources, into its own result. */
static int reduce_by_block(struct tutti_shmem *space, struct tutti_shmem_streamed *call)
{
    const struct tutti_shmem_args *args = &call->args;
    const struct tshmem_team_state *team = tutti_shmem_team(space, args->team);
    const size_t bytes = args->n * tutti_type_size(args->type);
    struct tutti_shmem_job job = {.type = args->type,
                                  .op = args->op,
                                  .shape = TUTTI_SHAPE_ALL,
                                  .ranks = team->size,
                                  .outs = 1,
                                  .count = args->n,
                                  .out = {args->dest}};
    for (int i = 0; i < team->size; i++)
        job.in[i] = space->heaps[tutti_shmem_pe_of(space, team, i)] + tutti_shmem_stream_offset(space, args->source) +
                    (size_t)team->me * bytes;
    return tutti_shmem_gpu_launch(space, call->stream, &job);
}

/* In place, the first PE's result overwrites its block of all sources, once that PE has read it. */
static int reduce_by_blocks(struct tutti_shmem *space, struct tutti_shmem_streamed *call)
{
    const int first = tutti_shmem_team(space, call->args.team)->me == 0;
    if (call->args.dest != call->args.source)
        return reduce_by_block(space, call);
    int status = first ? reduce_by_block(space, call) : TUTTI_OK;
    if (status == TUTTI_OK)
        status = tutti_shmem_stream_launch(space, call, TUTTI_SHMEM_DO_MEET, 0, 1);
    return status == TUTTI_OK && !first ? reduce_by_block(space, call) : status;
}

static int stream_reduce(struct tutti_shmem *space, const char *name, enum tutti_shmem_what what, tshmem_team_t team,
                         void *dest, const void *source, size_t n, int type, int op, void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.dest = dest, .source = source, .n = n, .type = type, .op = op}};
    const struct tshmem_team_state *members = tutti_shmem_team(space, team);
    const size_t size = reduce_size_of(space, type, op, name);
    size_t brought = n;
    if (members && what == TUTTI_SHMEM_DO_REDUCESCATTER && __builtin_mul_overflow(n, (size_t)members->size, &brought))
        brought = SIZE_MAX;
    if (size == 0 || !reduce_is_symmetric(space, dest, n, size, name) ||
        !reduce_is_symmetric(space, source, brought, size, name))
        return TUTTI_ERR_ARGUMENT;
    int status = tutti_shmem_stream_begin(space, &call, name, team, stream);
    if (status != TUTTI_OK)
        return status;
    if (n == 0)
        call.args.source = call.args.dest = call.args.state.heap;
    else if (tutti_shmem_flow_takes(space, &call, brought * size)) {
        status = tutti_shmem_flow_put(space, &call, what);
        if (status != TUTTI_ERR_UNAVAILABLE)
            return tutti_shmem_stream_end(space, &call, status, 0);
    }
    if (tutti_shmem_stream_small(space, &call, brought * size))
        return tutti_shmem_stream_end(space, &call, tutti_shmem_stream_launch(space, &call, what, n * size, 1), 1);
    /* In place, a block of a reduce-scatter is overwritten while others still read it. */
    const int scatters = what == TUTTI_SHMEM_DO_REDUCESCATTER;
    const size_t slice = scatters ? n * size : n * size / (size_t)members->size + size;
    if (slice <= SPREAD_BYTES && !(scatters && dest == source))
        return tutti_shmem_stream_end(
            space, &call, tutti_shmem_stream_launch(space, &call, what, slice, tutti_shmem_stream_blocks(slice)), 1);
    status = tutti_shmem_stream_launch(space, &call, TUTTI_SHMEM_DO_ENTER, 0, 1);
    if (status == TUTTI_OK)
        status = what == TUTTI_SHMEM_DO_REDUCESCATTER
                     ? reduce_by_blocks(space, &call)
                     : stream_reduce_slices(space, &call,
                                            what == TUTTI_SHMEM_DO_INSCAN   ? TUTTI_SHAPE_THROUGH
                                            : what == TUTTI_SHMEM_DO_EXSCAN ? TUTTI_SHAPE_BEFORE
                                                                            : TUTTI_SHAPE_ALL);
    if (status == TUTTI_OK)
        status = tutti_shmem_stream_launch(space, &call, TUTTI_SHMEM_DO_LEAVE, 0, 1);
    return tutti_shmem_stream_end(space, &call, status, 0);
}

int tutti_shmem_reduce_on_stream(tshmem_team_t team, void *dest, const void *source, size_t n, int type, int op,
                                 void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_reduce(space, "a reduction in a stream", TUTTI_SHMEM_DO_REDUCE, team, dest, source, n, type, op,
                         stream);
}

int tutti_shmem_reducescatter_on_stream(tshmem_team_t team, void *dest, const void *source, size_t n, int type, int op,
                                        void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_reduce(space, "a reducescatter in a stream", TUTTI_SHMEM_DO_REDUCESCATTER, team, dest, source, n,
                         type, op, stream);
}

int tutti_shmem_scan_on_stream(tshmem_team_t team, void *dest, const void *source, size_t n, int type, int exclusive,
                               void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return stream_reduce(space, "a scan in a stream", exclusive ? TUTTI_SHMEM_DO_EXSCAN : TUTTI_SHMEM_DO_INSCAN, team,
                         dest, source, n, type, TSHMEM_OP_SUM, stream);
}
