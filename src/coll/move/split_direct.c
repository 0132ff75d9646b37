/* split_direct: `split` without windows: the root stores each rank's slice into the rank's mapped result, tile by tile,
 * and the rank stores each tile into the results of the others. Through the windows, as in `split`, if some buffer is
 * not mapped. */
#include "coll/move/runs.h"

/* What an owner has still to hand on when the root has stored its last tiles. */
enum { TILE_MOST = 16 << 10 };

static void split_direct_shape(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    tutti_split_shape(team, longest, runs);
    runs->kernel = TUTTI_KERNEL_MOVE_SPLIT_DIRECT;
    runs->hands_on = 1;
    if (runs->room > TILE_MOST)
        runs->room = TILE_MOST;
}

const struct tutti_algorithm tutti_move_split_direct = {
    .name = "split_direct",
    .collectives = TUTTI_ON(BCAST),
    .waits_for_peers = 1,
    .can = tutti_split_can,
    .runs = split_direct_shape,
    .how = "slices stored into results by their owners",
};
