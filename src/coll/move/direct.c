/* direct: long runs are stored straight into the results of their receivers, without windows; any size in one launch.
 * Ranks need not know the lengths of others' runs. What is short, or not mapped, goes through the windows as in
 * `pipeline`; so does everything where leaders launch. */
#include "coll/move/runs.h"

enum {
    SHORT_OF_BLOCK = 2048, /* a run is short if no block of it has more bytes */
    /* Of so many blocks one copies the rank's own run and no other: on two H200, 12 of 128 copy as fast as the link
     * takes what the others store. */
    APART = 10
};

static void move_direct_shape(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    (void)longest; /* both sides of a run must act alike, independent of other runs */
    tutti_runs_in_chunks(team, TUTTI_KERNEL_MOVE_DIRECT, runs);
    runs->apart = runs->blocks / APART;
    runs->direct = (uint64_t)runs->blocks * SHORT_OF_BLOCK;
}

const struct tutti_algorithm tutti_move_direct = {
    .name = "direct",
    .collectives = TUTTI_ON_MOVES,
    .waits_for_peers = 1,
    .any_length = 1,
    .runs = move_direct_shape,
    .leads = 1,
    .how = "stored into results or through the windows",
};
