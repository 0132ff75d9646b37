/* ll128: one exchange of lines of 128 bytes that carry their flags. */
#include "coll/launch/flow.h"
#include "coll/launch/linger.h"
#include "core/types.h"

enum { LINE = 128, GROUP = 4, BLOCKS_MOST = 132 };

void tutti_ll128_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                       struct tutti_flow *flow)
{
    size_t size = tutti_type_size(call->type), data = size == 16 ? 112 : 120; /* of a line */
    size_t groups = (elements * size + GROUP * data - 1) / (GROUP * data);    /* a warp's work */
    groups *= tutti_flow_segments(call) ? (size_t)team->size : 1;
    *flow = (struct tutti_flow){
        .kernel = TUTTI_KERNEL_LL128, .leads = TUTTI_KERNEL_LEAD_LL128, .region = TUTTI_REGION_LINES, .threads = 128};
    flow->room = tutti_channel_region(team, flow->region).each / (size_t)team->size / (GROUP * LINE) * (GROUP * LINE);
    flow->most = flow->room / (GROUP * LINE) * (GROUP * data / size);
    while (flow->threads < 512 && groups > (size_t)BLOCKS_MOST * flow->threads / 32)
        flow->threads *= 2;
    flow->blocks = tutti_flow_blocks(team, groups, flow->threads / 32, BLOCKS_MOST);
}

static tutti_flow_shape *const ll128_shape = tutti_ll128_shape;

TUTTI_LEADER_ROW(ll128, LEAD_LL128, TUTTI_ON_REDUCTIONS, team->lines)

const struct tutti_algorithm tutti_reduce_ll128 = {
    .name = "ll128",
    .collectives = TUTTI_ON_REDUCTIONS | TUTTI_ON(BARRIER),
    .kernels = TUTTI_LAUNCHES(LL128) | TUTTI_LAUNCHES(LINGER),
    .waits_for_peers = 1,
    .can = tutti_flow_lines_can,
    .flow = tutti_ll128_shape,
    .lingers = 1,
};
