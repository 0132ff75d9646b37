/* pipeline: chunks through the windows, any size in one launch. Ranks need not know the lengths of others' runs. */
#include "coll/move/runs.h"

enum { CHUNK_LEAST = 2048, CHUNK_MOST = 192 << 10, BLOCKS_MOST = 128, GRAIN = 256 };

static void pipeline_shape(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    const size_t set = tutti_channel_region(team, TUTTI_REGION_CHUNKS).stride; /* bytes of each of the sets of slots */
    const size_t peers = team->size > 1 ? (size_t)team->size - 1 : 1;
    (void)longest; /* both sides of a run must act alike, independent of other runs */
    *runs = (struct tutti_runs){.kernel = TUTTI_KERNEL_MOVE_PIPELINE,
                                .region = TUTTI_REGION_CHUNKS,
                                .most = UINT64_MAX,
                                .worth = CHUNK_LEAST,
                                .tells = 1};
    runs->blocks = tutti_flow_blocks_in(set, peers, CHUNK_LEAST, tutti_flow_blocks(team, BLOCKS_MOST, 1, BLOCKS_MOST));
    runs->room = set / (peers * runs->blocks) / GRAIN * GRAIN;
    if (runs->room > CHUNK_MOST)
        runs->room = CHUNK_MOST;
}

TUTTI_RUNS_ROW(pipeline)

const struct tutti_algorithm tutti_move_pipeline = {
    .name = "pipeline",
    .collectives = TUTTI_ON_MOVES,
    .waits_for_peers = 1,
    .any_length = 1,
    .can = pipeline_can,
    .run = pipeline_run,
    .enqueue = pipeline_enqueue,
    .how = "chunks through the windows",
};
