/* twoshot_ll128: every rank combines a slice and passes it on, both in lines of 128 bytes that carry their flags. */
#include "coll/launch/flow.h"
#include "core/types.h"

enum { LINE = 128, GROUP = 4, BLOCKS_FEW = 70, BLOCKS_MOST = 132 };

static void twoshot_ll128_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                                struct tutti_flow *flow)
{
    size_t size = tutti_type_size(call->type), gpus = (size_t)team->gpus, data = size == 16 ? 112 : 120;
    size_t grain = GROUP * data / size; /* elements of a warp's work */
    *flow = (struct tutti_flow){.kernel = TUTTI_KERNEL_TWOSHOT_LL128,
                                .leads = TUTTI_KERNEL_LEAD_TWOSHOT_LL128,
                                .region = TUTTI_REGION_LINES,
                                .threads = 128};
    flow->room =
        tutti_channel_region(team, flow->region).each / ((size_t)team->size + gpus) / (GROUP * LINE) * (GROUP * LINE);
    flow->most = flow->room / (GROUP * LINE) * grain * gpus;
    flow->slice = ((elements + gpus - 1) / gpus + grain - 1) / grain * grain;
    if (flow->slice / grain > BLOCKS_FEW * 128 / 32)
        flow->threads = 512;
    flow->blocks = tutti_flow_blocks(team, flow->slice / grain, flow->threads / 32, BLOCKS_MOST);
}

TUTTI_LEADER_ROW(twoshot_ll128, LEAD_TWOSHOT_LL128, TUTTI_ON(ALLREDUCE) | TUTTI_ON(REDUCE), team->lines)

const struct tutti_algorithm tutti_reduce_twoshot_ll128 = {
    .name = "twoshot_ll128",
    .collectives = TUTTI_ON(ALLREDUCE) | TUTTI_ON(REDUCE),
    .kernels = TUTTI_LAUNCHES(TWOSHOT_LL128),
    .waits_for_peers = 1,
    .can = tutti_flow_lines_can,
    .flow = twoshot_ll128_shape,
};
