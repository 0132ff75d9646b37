/* ll128: one exchange of lines of 128 bytes that carry their flags. */
#include "coll/move/runs.h"
#include "kernels/grains.h"

enum {
    LINE = TUTTI_LINE,
    DATA = TUTTI_LINE_DATA,
    GROUP = TUTTI_LINES_GRAIN,
    BLOCKS_MOST = 132,
    WARP = 32,
    WARPS_LEAST = 4,
    WARPS_MOST = 16
};

/* A warp moves GROUP lines at once. */
static void ll128_runs(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    const uint64_t peers = team->size > 1 ? (uint64_t)team->size - 1 : 1;
    *runs = (struct tutti_runs){.kernel = TUTTI_KERNEL_MOVE_LL128, .region = TUTTI_REGION_LINES, .grain = GROUP * DATA};
    runs->blocks = tutti_flow_blocks(team, BLOCKS_MOST, 1, BLOCKS_MOST);
    runs->room = tutti_channel_region(team, runs->region).each / (size_t)team->size / (GROUP * LINE) * (GROUP * LINE);
    runs->most = team->lines ? runs->room / LINE * DATA : 0; /* links that deliver lines whole */
    runs->worth = peers >= WARPS_LEAST ? GROUP * DATA : WARPS_LEAST / peers * GROUP * DATA;
    const uint64_t groups = (longest * peers + GROUP * DATA - 1) / (GROUP * DATA);
    unsigned warps = WARPS_LEAST;
    while (warps < WARPS_MOST && groups > (uint64_t)runs->blocks * warps)
        warps *= 2;
    runs->threads = WARP * warps;
}

const struct tutti_algorithm tutti_move_ll128 = {
    .name = "ll128",
    .collectives = TUTTI_ON_MOVES,
    .waits_for_peers = 1,
    .runs = ll128_runs,
    .leads = 1,
    .how = "packets of whole lines",
};
