/* split: a broadcast whose root sends each rank a slice, in chunks through the windows; the ranks hand their slices on
 * to each other as they come. So each byte takes the root's link once, where all others fetch from the root otherwise.
 */
#include "coll/move/runs.h"

enum {
    RANKS_LEAST = 3, /* two ranks have nothing to hand on */
    ROUNDS = 5,      /* an owner begins to hand on when it has a chunk: one in so many of its part */
    CHUNK_LEAST = 8 << 10,
    CHUNK_MOST = 64 << 10,
    GRAIN = 256
};

/* All ranks know the length of the message, so all have the same chunks. */
void tutti_split_shape(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    const uint64_t slices = team->size > 1 ? (uint64_t)team->size - 1 : 1;
    tutti_runs_in_chunks(team, TUTTI_KERNEL_MOVE_SPLIT, runs);
    const uint64_t wanted = (longest / (slices * runs->blocks * ROUNDS) + GRAIN - 1) / GRAIN * GRAIN;
    const uint64_t most = wanted < CHUNK_LEAST ? CHUNK_LEAST : wanted > CHUNK_MOST ? CHUNK_MOST : wanted;
    if (runs->room > most)
        runs->room = (size_t)most;
}

int tutti_split_can(const struct tutti_team *team, const struct tutti_call *call)
{
    (void)call;
    return team->size >= RANKS_LEAST || TUTTI_NO(RULES);
}

const struct tutti_algorithm tutti_move_split = {
    .name = "split",
    .collectives = TUTTI_ON(BCAST),
    .waits_for_peers = 1,
    .can = tutti_split_can,
    .runs = tutti_split_shape,
    .how = "slices handed on by their owners",
};
