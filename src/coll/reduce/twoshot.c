/* twoshot: every GPU reduces a slice, which the others push into its window, and pushes the result into all windows. */
#include "coll/launch/flow.h"

int tutti_twoshot_locals(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op)
{
    return tutti_launch_windows(team, locals, count, type, op, TUTTI_KERNEL_TWOSHOT, 1);
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
