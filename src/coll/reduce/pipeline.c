/* pipeline: pushes chunks through the windows, combines them and passes them on while the next ones arrive; any size
 * in one launch. */
#include <stdint.h>

#include "coll/launch/flow.h"
#include "core/types.h"

enum {
    CHUNK_LEAST = 2048,
    CHUNK_MOST = 192 << 10,
    CHUNK_ALONE = 384 << 10, /* of a block that has no other chunk */
    DEPTH = 3,
    BLOCKS_MOST = 128,
    PART_SMALL = 128 << 10,
    CHUNK_SMALL = 32 << 10
};

void tutti_pipeline_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                          struct tutti_flow *flow)
{
    size_t size = tutti_type_size(call->type), gpus = (size_t)team->gpus, grain = 256 / size;
    const int segments = tutti_flow_segments(call);
    size_t slice = segments ? elements : (elements + gpus - 1) / gpus;
    const size_t set = tutti_channel_region(team, TUTTI_REGION_CHUNKS).stride; /* bytes of each of the DEPTH sets */
    *flow = (struct tutti_flow){.kernel = TUTTI_KERNEL_PIPELINE,
                                .leads = TUTTI_KERNEL_PIPELINE,
                                .region = TUTTI_REGION_CHUNKS,
                                .most = SIZE_MAX / 2,
                                .tells = 1};
    flow->slice = (slice + grain - 1) / grain * grain;
    flow->depth = DEPTH;
    size_t slots = (size_t)team->size > gpus ? (size_t)team->size + gpus : 2 * (gpus > 1 ? gpus - 1 : 1);
    if (segments || team->gpus > 2) { /* an allreduce of two GPUs is a little slower in rows */
        tutti_flow_rows(team, flow->slice * size, CHUNK_LEAST, BLOCKS_MOST, set / slots, flow);
    } else {
        flow->blocks = tutti_flow_blocks(team, flow->slice * size, CHUNK_LEAST, BLOCKS_MOST);
        flow->blocks = tutti_flow_blocks_in(set / slots, CHUNK_LEAST, flow->blocks);
    }
    slots *= flow->blocks;
    flow->room = set / slots / 256 * 256;
    size_t part = ((flow->slice * size + 255) / 256 + flow->blocks - 1) / flow->blocks * 256;
    size_t chunk_most = flow->rows > 1 ? CHUNK_MOST / 2 : CHUNK_MOST;
    if (flow->rows < 2 && part <= CHUNK_ALONE) /* two H200, 64 MiB: 211 us in one round, 216 in two */
        chunk_most = CHUNK_ALONE;
    if (flow->room > chunk_most)
        flow->room = chunk_most;
    /* Chunks of equal size. A rank's segment is combined while the next chunk arrives; an allreduce has the second
     * half of its way for that. */
    size_t most = flow->room;
    if (segments && part <= PART_SMALL && most > CHUNK_SMALL)
        most = CHUNK_SMALL;
    size_t rounds = part > most ? (part + most - 1) / most : 1;
    size_t chunk = (part + rounds - 1) / rounds;
    flow->chunk = (chunk + 255) / 256 * 256 / size;
}

static tutti_flow_shape *const pipeline_shape = tutti_pipeline_shape;

TUTTI_LEADER_ROW(pipeline, PIPELINE, TUTTI_ON(ALLREDUCE) | TUTTI_ON_REDUCE_SCATTERS, 1)

const struct tutti_algorithm tutti_reduce_pipeline = {
    .name = "pipeline",
    .collectives = TUTTI_ON(ALLREDUCE) | TUTTI_ON(REDUCE) | TUTTI_ON_REDUCE_SCATTERS,
    .kernels = TUTTI_LAUNCHES(PIPELINE),
    .waits_for_peers = 1,
    .can = tutti_flow_row_can,
    .flow = tutti_pipeline_shape,
};
