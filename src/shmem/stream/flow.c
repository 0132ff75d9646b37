/* Reductions, scans, barriers and moves in stream order by the flow kernels of src/coll/. A team that has a channel
 * sends packets through it that carry their flags, so no meeting is needed before a store. */
#include "shmem/stream/flow.h"

#include "coll/coll.h"
#include "coll/move.h"
#include "core/status.h"
#include "core/types.h"
#include "shmem/host.h"
#include "team/team.h"

int tutti_shmem_flow_takes(struct tutti_shmem *space, const struct tutti_shmem_streamed *call, size_t bytes)
{
    return tutti_shmem_stream_way(space->rules, call->kind, bytes, 1) == TUTTI_STREAM_CHANNEL &&
           tutti_shmem_channel_of(&space->channels, call->args.team) != NULL;
}

static enum tutti_collective collective_of(enum tutti_shmem_what what)
{
    switch (what) {
    case TUTTI_SHMEM_DO_REDUCE:
        return TUTTI_COLLECTIVE_ALLREDUCE;
    case TUTTI_SHMEM_DO_REDUCESCATTER:
        return TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK;
    case TUTTI_SHMEM_DO_INSCAN:
        return TUTTI_COLLECTIVE_SCAN;
    case TUTTI_SHMEM_DO_EXSCAN:
        return TUTTI_COLLECTIVE_EXSCAN;
    case TUTTI_SHMEM_DO_BROADCAST:
        return TUTTI_COLLECTIVE_BCAST;
    case TUTTI_SHMEM_DO_FCOLLECT:
        return TUTTI_COLLECTIVE_ALLGATHER;
    case TUTTI_SHMEM_DO_ALLTOALL:
        return TUTTI_COLLECTIVE_ALLTOALL;
    default:
        return TUTTI_COLLECTIVE_BARRIER;
    }
}

/* GPUs must see lines of 128 bytes whole. In a broadcast only the root sends, to itself too. */
static int flow_move(struct tutti_team *team, const struct tutti_shmem_streamed *call, enum tutti_shmem_what what)
{
    const struct tutti_shmem_args *args = &call->args;
    const int spreads = what == TUTTI_SHMEM_DO_BROADCAST, cuts = what == TUTTI_SHMEM_DO_ALLTOALL;
    struct tutti_move_flow flow = {0};
    const struct tutti_call move = {.collective = collective_of(what), .root = args->root, .flow = &flow};
    const char *why;
    if (!team->lines)
        return TUTTI_ERR_UNAVAILABLE;
    for (int r = 0; r < team->size; r++) {
        const size_t at = (size_t)r * args->n;
        flow.send[r].at = (const char *)args->source + (cuts ? at : 0);
        flow.send[r].bytes = spreads && team->rank != args->root ? 0 : args->n;
        flow.receive[r].at = (char *)args->dest + (spreads ? 0 : at);
        flow.receive[r].bytes = spreads && r != args->root ? 0 : args->n;
    }
    return tutti_move_enqueue(team, &move, call->stream, &why);
}

int tutti_shmem_flow_put(struct tutti_shmem *space, const struct tutti_shmem_streamed *call, enum tutti_shmem_what what)
{
    const struct tutti_shmem_args *args = &call->args;
    struct tutti_team *team = tutti_shmem_channel_of(&space->channels, args->team);
    struct tutti_call reduce = {.collective = collective_of(what),
                                .type = TUTTI_TYPE_U32,
                                .op = TUTTI_OP_SUM,
                                .kind = TUTTI_ARRIVAL_DEVICE,
                                .gpu = team->gpu,
                                .near = 1,
                                .host_ok = 1};
    const char *why;
    if (call->kind == TUTTI_STREAM_MOVES)
        return flow_move(team, call, what);
    if (reduce.collective != TUTTI_COLLECTIVE_BARRIER) {
        reduce.in = args->source;
        reduce.out = args->dest;
        reduce.type = args->type;
        reduce.op = tutti_shmem_operator(args->op);
        reduce.count = what == TUTTI_SHMEM_DO_REDUCESCATTER ? args->n * (size_t)team->size : args->n;
    }
    const int status = tutti_enqueue(team, &reduce, call->stream, &why);
    /* MPI leaves the first result of an exclusive scan unchanged; here it is zero. */
    if (status == TUTTI_OK && what == TUTTI_SHMEM_DO_EXSCAN && team->rank == 0)
        return space->gpu->device->stream.fill(call->stream, args->dest, 0, args->n * tutti_type_size(args->type));
    return status;
}
