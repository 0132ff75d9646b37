/* mapped_deep: as `mapped`, by a kernel that has more loads of the peers' contributions under way. */
#include "coll/launch/flow.h"

static void mapped_deep_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                              struct tutti_flow *flow)
{
    tutti_pipeline_shape_in(team, call, elements, 0, flow);
    flow->kernel = flow->leads = TUTTI_KERNEL_MAPPED_DEEP;
}

const struct tutti_algorithm tutti_reduce_mapped_deep = {
    .name = "mapped_deep",
    .collectives = TUTTI_ON(ALLREDUCE) | TUTTI_ON(REDUCE) | TUTTI_ON_REDUCE_SCATTERS,
    .kernels = TUTTI_LAUNCHES(MAPPED_DEEP),
    .waits_for_peers = 1,
    .can = tutti_flow_row_can,
    .flow = mapped_deep_shape,
    .places = 1,
};
