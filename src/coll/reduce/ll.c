/* ll: one exchange of packets that carry their flags; the least time from launch to end, twice the bytes. */
#include "coll/launch/flow.h"
#include "coll/launch/linger.h"
#include "core/types.h"

enum {
    UNIT = 16,
    THREADS = 128,
    BLOCKS_MOST = 128,
    WARPS_MOST = 8
}; /* small blocks: many multiprocessors pack and unpack at once */

static void ll_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                     struct tutti_flow *flow)
{
    size_t size = tutti_type_size(call->type);
    size_t units = (elements * size + UNIT - 1) / UNIT * (tutti_flow_segments(call) ? (size_t)team->size : 1);
    *flow = (struct tutti_flow){
        .kernel = TUTTI_KERNEL_LL, .leads = TUTTI_KERNEL_LEAD_LL, .region = TUTTI_REGION_LL, .threads = THREADS};
    flow->room = tutti_ll_room(team);
    flow->most = flow->room / 1024 * (512 / size);
    if (units < THREADS)
        flow->threads = units <= 32 ? 32 : (unsigned)(units + 31) / 32 * 32;
    size_t peers = team->gpus > 1 ? (size_t)team->gpus - 1 : 1, warps = peers < WARPS_MOST ? peers : WARPS_MOST;
    if (tutti_flow_segments(call) && flow->threads < warps * 32) /* a warp for each peer: they are packed for at once */
        flow->threads = (unsigned)warps * 32;
    flow->blocks = tutti_flow_blocks(team, units, THREADS, BLOCKS_MOST);
}

TUTTI_LEADER_ROW(ll, LEAD_LL, TUTTI_ON_REDUCTIONS, 1)

int tutti_ll_barrier(struct tutti_team *team, int type, int op, uint32_t launch_number)
{
    const struct tutti_call barrier = {.collective = TUTTI_COLLECTIVE_BARRIER, .type = type, .op = op};
    return tutti_flow_put(team, &barrier, team->stream, launch_number, ll_shape);
}

const struct tutti_algorithm tutti_reduce_ll = {
    .name = "ll",
    .collectives = TUTTI_ON_REDUCTIONS | TUTTI_ON(BARRIER),
    .kernels = TUTTI_LAUNCHES(LL) | TUTTI_LAUNCHES(LINGER),
    .waits_for_peers = 1,
    .can = tutti_flow_row_can,
    .flow = ll_shape,
    .lingers = 1,
};
