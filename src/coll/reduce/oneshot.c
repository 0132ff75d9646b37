/* oneshot: every GPU pushes its contributions into all windows and reduces for itself. One launch a piece. */
#include "coll/launch/flow.h"

int tutti_oneshot_locals(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op)
{
    return tutti_launch_windows(team, locals, count, type, op, TUTTI_KERNEL_ONESHOT, 0);
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
