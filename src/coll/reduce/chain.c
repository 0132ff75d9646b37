/* chain: a large reduction to one rank, passed from rank to rank. */
#include <stdint.h>

#include "coll/launch/flow.h"
#include "core/types.h"

enum {
    PART_LEAST = 2048,
    GRAIN = 4096,
    CHUNK_LEAST = 32 << 10,
    CHUNK_MOST = 192 << 10,
    MARK_BYTES = 2800, /* what a block sends in the 2 us that a chunk's mark waits for acknowledgements */
    PLACES_MOST = 128
};

/* The time for `part` bytes of a block: each chunk costs MARK_BYTES besides its own, and each rank but the first starts
 * a chunk later than the one before. It is least where the square of a chunk is part * MARK_BYTES / (ranks - 1). */
static size_t chain_chunk(size_t part, size_t later)
{
    size_t chunk = CHUNK_LEAST;
    while (chunk < CHUNK_MOST && chunk * chunk * later < part * MARK_BYTES)
        chunk += GRAIN;
    return chunk;
}

static int chain_can(const struct tutti_team *team, const struct tutti_call *call)
{
    const int half = call->type == TUTTI_TYPE_F16 || call->type == TUTTI_TYPE_BF16;
    return tutti_flow_can(team) && team->size > 1 && (team->size == 2 || !half); /* rounded once, not at every rank */
}

void tutti_chain_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                       struct tutti_flow *flow)
{
    const size_t size = tutti_type_size(call->type);
    const size_t quarter = tutti_channel_region(team, TUTTI_REGION_CHUNKS).stride;
    *flow = (struct tutti_flow){.kernel = TUTTI_KERNEL_CHAIN, .region = TUTTI_REGION_CHUNKS, .most = SIZE_MAX / 2};
    flow->depth = (size_t)team->size + 3;
    /* Two slots a chunk: a third of them in the opening, a quarter of the region; the others in the ring, a half. */
    const size_t opening = flow->depth / 3, ring = flow->depth - opening,
                 slots = 2 * opening > ring ? 2 * opening : ring;
    tutti_flow_rows(team, elements * size, PART_LEAST, PLACES_MOST, quarter / slots, flow);
    flow->room = quarter / (flow->blocks * slots) / 256 * 256;
    const size_t wanted = chain_chunk(elements * size / flow->blocks, (size_t)team->size - 1);
    if (flow->room > wanted)
        flow->room = wanted;
    flow->chunk = flow->room / size;
}

const struct tutti_algorithm tutti_reduce_chain = {
    .name = "chain",
    .collectives = TUTTI_ON(REDUCE),
    .kernels = TUTTI_LAUNCHES(CHAIN),
    .waits_for_peers = 1,
    .can = chain_can,
    .flow = tutti_chain_shape,
};
