/* pipeline_direct: an allreduce by `pipeline` whose results the owners of the slices store straight into all ranks'
 * mapped results, where `pipeline` copies them out of windows; as `pipeline` if some buffer is not mapped. */
#include "coll/launch/flow.h"

static void pipeline_direct_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                                  struct tutti_flow *flow)
{
    tutti_pipeline_shape(team, call, elements, flow);
    flow->kernel = flow->leads = TUTTI_KERNEL_PIPELINE_DIRECT;
}

const struct tutti_algorithm tutti_reduce_pipeline_direct = {
    .name = "pipeline_direct",
    .collectives = TUTTI_ON(ALLREDUCE),
    .kernels = TUTTI_LAUNCHES(PIPELINE_DIRECT),
    .waits_for_peers = 1,
    .can = tutti_flow_row_can,
    .flow = pipeline_direct_shape,
    .places = 1,
};
