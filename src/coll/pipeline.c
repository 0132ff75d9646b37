/* pipeline: pushes chunks through the windows, combines and hands on while the next ones come; any size in one launch.
 */
#include <stdint.h>

#include "coll/flow.h"
#include "core/types.h"

enum { CHUNK_LEAST = 2048, CHUNK_MOST = 192 << 10, DEPTH = 3, BLOCKS_MOST = 128 };

int tutti_pipeline_can(const struct tutti_team *team, const struct tutti_reduce *call)
{
    return tutti_flow_can(team) && (call->collective == TUTTI_COLLECTIVE_ALLREDUCE || tutti_flow_segments(call));
}

static void shape(const struct tutti_team *team, const struct tutti_reduce *call, size_t elements,
                  struct tutti_flow *flow)
{
    size_t size = tutti_type_size(call->type), ranks = (size_t)team->size, grain = 256 / size;
    size_t slice = tutti_flow_segments(call) ? elements : (elements + ranks - 1) / ranks;
    *flow = (struct tutti_flow){.kernel = TUTTI_KERNEL_PIPELINE, .region = TUTTI_REGION_CHUNKS, .most = SIZE_MAX / 2};
    flow->slice = (slice + grain - 1) / grain * grain;
    flow->depth = DEPTH;
    flow->blocks = tutti_flow_blocks(team, flow->slice * size, CHUNK_LEAST, BLOCKS_MOST);
    size_t slots = flow->blocks * DEPTH * 2 * (ranks > 1 ? ranks - 1 : 1);
    flow->room = tutti_channel_region(team, flow->region).bytes / slots / 256 * 256;
    if (flow->room > CHUNK_MOST)
        flow->room = CHUNK_MOST;
    flow->chunk = flow->room / size;
}

TUTTI_FLOW_ROW(pipeline)
