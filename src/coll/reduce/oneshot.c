/* oneshot: every GPU pushes its contributions into all windows and reduces for itself. One launch a piece. */
#include "coll/launch/flow.h"
#include "core/status.h"
#include "core/types.h"

int tutti_oneshot_locals(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op)
{
    size_t size = tutti_type_size(type);
    size_t slot = tutti_channel_half(team) / (size_t)team->size / 256 * 256;
    size_t most = slot / size;
    int status = TUTTI_OK;
    tutti_waiting_begin(team);
    for (size_t at = 0; at < count && status == TUTTI_OK; at += most) {
        struct tutti_kernel_args args;
        tutti_launch_begin(team, &args);
        args.count = count - at < most ? count - at : most;
        tutti_launch_locals(&args, locals, at * size);
        args.slot_bytes = slot;
        args.slots = tutti_channel_data(team, args.epoch);
        unsigned blocks = tutti_launch_blocks(team, args.count * size, 1);
        status = tutti_launch_end(team, &args, TUTTI_KERNEL_ONESHOT, type, op, blocks);
    }
    if (status == TUTTI_OK)
        status = tutti_team_await_kernel(team, team->epoch);
    tutti_waiting_end(team);
    return status;
}

static int oneshot_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    struct tutti_locals mine = {.n = 1, .rank = {team->rank}, .in = {call->in}, .out = {call->out}};
    *fits = 1;
    return tutti_oneshot_locals(team, &mine, call->count, call->type, call->op);
}

const struct tutti_algorithm tutti_reduce_oneshot = {
    .name = "oneshot",
    .collectives = TUTTI_ON(ALLREDUCE),
    .kernels = TUTTI_LAUNCHES(ONESHOT),
    .waits_for_peers = 1,
    .can = tutti_flow_row_can,
    .run = oneshot_run,
};
