/* ll: one exchange of packets of 16 bytes, half of them flags; the least time from launch to end, twice the bytes. */
#include "coll/move/runs.h"
#include "kernels/grains.h"

enum {
    UNIT = 16,
    WARP = 32,
    GRAIN = TUTTI_LL_GRAIN,
    WORTH = 2048,
    THREADS_MOST = 128,
    WARPS_MOST = 8,
    BLOCKS_MOST = 128
};

/* A block handles all peers' parts at once: the more peers, the less of each. */
static void ll_runs(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    const unsigned peers = team->size > 1 ? (unsigned)team->size - 1 : 1,
                   cap = tutti_flow_blocks(team, BLOCKS_MOST, 1, BLOCKS_MOST);
    *runs =
        (struct tutti_runs){.kernel = TUTTI_KERNEL_MOVE_LL, .region = TUTTI_REGION_LL, .blocks = cap, .grain = GRAIN};
    runs->room = tutti_ll_room(team);
    runs->most = runs->room / 2;
    runs->worth = peers >= WORTH / GRAIN ? GRAIN : WORTH / peers / GRAIN * GRAIN;
    const uint64_t part = longest < runs->worth ? longest : runs->worth;
    const unsigned warps = (unsigned)(part + UNIT * WARP - 1) / (UNIT * WARP) * peers; /* a warp packs for one peer */
    const unsigned most = peers > THREADS_MOST / WARP ? peers < WARPS_MOST ? peers : WARPS_MOST : THREADS_MOST / WARP;
    runs->threads = WARP * (warps < 1 ? 1 : warps > most ? most : warps);
}

const struct tutti_algorithm tutti_move_ll = {
    .name = "ll",
    .collectives = TUTTI_ON_MOVES,
    .waits_for_peers = 1,
    .runs = ll_runs,
    .leads = 1,
    .how = "packets",
};
