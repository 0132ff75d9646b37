/* pipeline: chunks through the windows, any size in one launch. Ranks need not know the lengths of others' runs. */
#include "coll/move/lead.h"

static void pipeline_shape(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    (void)longest; /* both sides of a run must act alike, independent of other runs */
    tutti_runs_in_chunks(team, TUTTI_KERNEL_MOVE_PIPELINE, runs);
}

const struct tutti_algorithm tutti_move_pipeline = {
    .name = "pipeline",
    .collectives = TUTTI_ON_MOVES,
    .waits_for_peers = 1,
    .runs = pipeline_shape,
    .leads = 1,
    .how = "chunks through the windows",
};

/* 1 if ranks of a team that is not open must share GPUs: there are more ranks than GPUs that this process sees. Which
 * GPU each rank has, ranks read when they open the team. */
static int pipeline_likely_shared(const struct tutti_team *team)
{
    const struct tutti_device *device = team->device ? team->device : tutti_device();
    const int gpus = device ? device->gpu.count() : 0;
    return gpus > 0 && gpus < team->size;
}

/* For rules of long blocks: where ranks share GPUs, their kernels of fetch would take turns on the GPU. A team is
 * opened for this row alone only if its ranks are likely to share GPUs, since no other team gains by it. */
static int leader_pipeline_can(const struct tutti_team *team, const struct tutti_call *call)
{
    if (tutti_lead_is(team, call))
        return tutti_lead_can(team, call, pipeline_shape);
    if (team->state == TUTTI_TEAM_OPEN || !pipeline_likely_shared(team))
        return TUTTI_NO(RULES);
    return tutti_runs_can(team, call, pipeline_shape);
}

static int leader_pipeline_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    if (tutti_lead_is(team, call))
        return tutti_lead_run(team, call, fits, pipeline_shape);
    *fits = 1;
    return tutti_runs_run(team, call, pipeline_shape);
}

const struct tutti_algorithm tutti_move_leader_pipeline = {
    .name = "leader_pipeline",
    .collectives = TUTTI_ON_MOVES,
    .waits_for_peers = 1,
    .can = leader_pipeline_can,
    .run = leader_pipeline_run,
    .how = "chunks through the windows",
};
