/* twoshot: every GPU reduces a slice, which the others push into its window, and pushes the result into all windows. */
#include "coll/launch/flow.h"
#include "core/status.h"
#include "core/types.h"

int tutti_twoshot_locals(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op)
{
    size_t size = tutti_type_size(type), gpus = (size_t)team->gpus, ranks = (size_t)team->size;
    size_t slot = tutti_channel_half(team) / (ranks + gpus) / 256 * 256;
    size_t most = slot / size * gpus;
    int status = TUTTI_OK;
    tutti_waiting_begin(team);
    for (size_t at = 0; at < count && status == TUTTI_OK; at += most) {
        struct tutti_kernel_args args;
        tutti_launch_begin(team, &args);
        args.count = count - at < most ? count - at : most;
        size_t grain = 256 / size; /* slices begin at whole 256-byte lines of the piece */
        args.slice = ((args.count + gpus - 1) / gpus + grain - 1) / grain * grain;
        tutti_launch_locals(&args, locals, at * size);
        args.slot_bytes = slot;
        args.slots = tutti_channel_data(team, args.epoch);
        args.result = args.slots + ranks * slot;
        unsigned blocks = tutti_launch_blocks(team, args.slice * size, 1);
        status = tutti_launch_end(team, &args, TUTTI_KERNEL_TWOSHOT, type, op, blocks);
    }
    if (status == TUTTI_OK)
        status = tutti_team_await_kernel(team, team->epoch);
    tutti_waiting_end(team);
    return status;
}

static int twoshot_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    struct tutti_locals mine = {.n = 1, .rank = {team->rank}, .in = {call->in}, .out = {call->out}};
    *fits = 1;
    return tutti_twoshot_locals(team, &mine, call->count, call->type, call->op);
}

const struct tutti_algorithm tutti_reduce_twoshot = {
    .name = "twoshot",
    .collectives = TUTTI_ON(ALLREDUCE),
    .kernels = TUTTI_LAUNCHES(TWOSHOT),
    .waits_for_peers = 1,
    .can = tutti_flow_row_can,
    .run = twoshot_run,
};
