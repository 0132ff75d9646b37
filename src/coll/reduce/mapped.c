/* mapped: every GPU loads its slice from all ranks' mapped contributions and stores what it has combined into mapped
 * results; any size in one launch. Through the windows, as in `pipeline`, if some buffer is not mapped. */
#include "coll/launch/flow.h"

static void mapped_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                         struct tutti_flow *flow)
{
    tutti_pipeline_shape(team, call, elements, flow);
    flow->kernel = flow->leads = TUTTI_KERNEL_MAPPED;
}

const struct tutti_algorithm tutti_reduce_mapped = {
    .name = "mapped",
    .collectives = TUTTI_ON(ALLREDUCE) | TUTTI_ON(REDUCE) | TUTTI_ON_REDUCE_SCATTERS,
    .kernels = TUTTI_LAUNCHES(MAPPED),
    .waits_for_peers = 1,
    .can = tutti_flow_row_can,
    .flow = mapped_shape,
    .places = 1,
};
