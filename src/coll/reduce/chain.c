/* chain: a large reduction to one rank, passed from rank to rank. */
#include <stdint.h>

#include "coll/launch/flow.h"
#include "core/types.h"

enum { PART_LEAST = 2048, CHUNK_LEAST = 32 << 10, CHUNK_MOST = 64 << 10, ROUNDS = 32, BLOCKS_MOST = 128 };

static int chain_can(const struct tutti_team *team, const struct tutti_call *call)
{
    return tutti_flow_can(team) && team->size > 1 && call->type != TUTTI_TYPE_F16 &&
           call->type != TUTTI_TYPE_BF16; /* rounded once, not at every rank */
}

static void chain_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                        struct tutti_flow *flow)
{
    const size_t size = tutti_type_size(call->type), bytes = tutti_channel_region(team, TUTTI_REGION_CHUNKS).each;
    *flow = (struct tutti_flow){.kernel = TUTTI_KERNEL_CHAIN, .region = TUTTI_REGION_CHUNKS, .most = SIZE_MAX / 2};
    flow->depth = (size_t)team->size + 3;
    flow->blocks = tutti_flow_blocks(team, elements * size, PART_LEAST, BLOCKS_MOST);
    flow->blocks = tutti_flow_blocks_in(bytes, flow->depth * 2, PART_LEAST, flow->blocks);
    flow->room = bytes / (flow->blocks * flow->depth * 2) / 256 * 256;
    /* Each rank starts a chunk later than its predecessor: with few large chunks the start takes long. */
    size_t wanted = elements * size / flow->blocks / ROUNDS / 256 * 256;
    wanted = wanted < CHUNK_LEAST ? CHUNK_LEAST : wanted > CHUNK_MOST ? CHUNK_MOST : wanted;
    if (flow->room > wanted)
        flow->room = wanted;
    flow->chunk = flow->room / size;
}

TUTTI_FLOW_ROW(chain)

const struct tutti_algorithm tutti_reduce_chain = {
    .name = "chain",
    .collectives = TUTTI_ON(REDUCE),
    .kernels = TUTTI_LAUNCHES(CHAIN),
    .waits_for_peers = 1,
    .can = chain_can,
    .run = chain_run,
    .enqueue = chain_enqueue,
};
