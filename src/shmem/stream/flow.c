/* Reductions, scans and barriers in stream order by the flow kernels of src/coll/: a team that has a channel sends
 * packets through it that carry their flags, so that nobody meets before it stores. */
#include "shmem/stream/flow.h"

#include "coll/coll.h"
#include "core/status.h"
#include "core/types.h"
#include "shmem/host.h"
#include "team/team.h"

int tutti_shmem_flow_takes(struct tutti_shmem *space, tshmem_team_t team, size_t bytes)
{
    return tutti_shmem_stream_way(space->rules, bytes, 1) == TUTTI_STREAM_CHANNEL &&
           tutti_shmem_channel_of(&space->channels, team) != NULL;
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
    default:
        return TUTTI_COLLECTIVE_BARRIER;
    }
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
    if (reduce.collective != TUTTI_COLLECTIVE_BARRIER) {
        reduce.in = args->source;
        reduce.out = args->dest;
        reduce.type = args->type;
        reduce.op = tutti_shmem_operator(args->op);
        reduce.count = what == TUTTI_SHMEM_DO_REDUCESCATTER ? args->n * (size_t)team->size : args->n;
    }
    const int status = tutti_enqueue(team, &reduce, call->stream, &why);
    /* MPI leaves the first result of an exclusive scan as it is, here it is zero. */
    if (status == TUTTI_OK && what == TUTTI_SHMEM_DO_EXSCAN && team->rank == 0)
        return space->gpu->device->stream.fill(call->stream, args->dest, 0, args->n * tutti_type_size(args->type));
    return status;
}
