/* chain_ll128: a reduction to one rank, passed from rank to rank in lines of 128 bytes that carry their flags. */
#include <stdint.h>

#include "coll/launch/flow.h"
#include "core/types.h"

enum {
    LINE = 128,
    GROUP = 4,
    THREADS = 512,
    BLOCKS_MOST = 128,
    BLOCKS_FEWER = 64,
    DEPTH = 2, /* a receiver returns the places of a round while the next one comes */
    ROUND = 3  /* groups a warp: more of them lose less where the threads of a block meet, but leave the cache */
};

static int chain_ll128_can(const struct tutti_team *team, const struct tutti_call *call)
{
    return tutti_flow_lines_can(team, call) && tutti_reduce_chain.can(team, call);
}

static void chain_ll128_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                              struct tutti_flow *flow)
{
    size_t size = tutti_type_size(call->type), grain = GROUP * (size == 16 ? 112 : 120) / size;
    const size_t bytes = tutti_channel_region(team, TUTTI_REGION_LINES).each;
    *flow = (struct tutti_flow){.kernel = TUTTI_KERNEL_CHAIN_LL128, .region = TUTTI_REGION_LINES, .threads = THREADS};
    flow->most = SIZE_MAX / 2;
    flow->depth = DEPTH;
    flow->blocks = tutti_flow_blocks(team, elements / grain, THREADS / 32, BLOCKS_MOST);
    if (flow->blocks > BLOCKS_FEWER && flow->blocks < BLOCKS_MOST) /* values in between are slower than either */
        flow->blocks = BLOCKS_FEWER;
    flow->blocks = tutti_flow_blocks_in(bytes / ((size_t)DEPTH * 2), GROUP * LINE, flow->blocks);
    flow->room = bytes / (flow->blocks * DEPTH * 2) / (GROUP * LINE);
    if (flow->room > THREADS / 32 * ROUND)
        flow->room = THREADS / 32 * ROUND;
    flow->chunk = flow->room * grain;
    flow->room *= GROUP * LINE;
}

const struct tutti_algorithm tutti_reduce_chain_ll128 = {
    .name = "chain_ll128",
    .collectives = TUTTI_ON(REDUCE),
    .kernels = TUTTI_LAUNCHES(CHAIN_LL128),
    .waits_for_peers = 1,
    .can = chain_ll128_can,
    .flow = chain_ll128_shape,
};
