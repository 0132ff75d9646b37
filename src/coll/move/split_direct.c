/* split_direct: `split` without windows: every rank loads its slice of the root's mapped buffer and stores it into the
 * mapped results of all others. Through the windows, as in `split`, if some buffer is not mapped. */
#include "coll/move/runs.h"

static void split_direct_shape(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    tutti_split_shape(team, longest, runs);
    runs->kernel = TUTTI_KERNEL_MOVE_SPLIT_DIRECT;
    runs->hands_on = 1;
}

const struct tutti_algorithm tutti_move_split_direct = {
    .name = "split_direct",
    .collectives = TUTTI_ON(BCAST),
    .waits_for_peers = 1,
    .can = tutti_split_can,
    .runs = split_direct_shape,
    .how = "slices stored into results by their owners",
};
