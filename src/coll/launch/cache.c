/* Programs often repeat a reduction on the same buffers, and a launch that the driver has prepared starts in a third
 * of the time of a fresh one (docs/performance.md). Launches that repeat few times cost a few comparisons. */
#include "coll/launch/cache.h"

#include <stdlib.h>
#include <string.h>

#include "coll/state.h"
#include "core/log.h"
#include "core/status.h"
#include "progress/fiber.h"
#include "team/deferred_free.h"

static int launch_fresh(struct tutti_team *team, const struct tutti_launch *launch)
{
    return team->device->launch.own ? team->device->launch.own(team->stream, launch)
                                    : team->device->launch.kernel(team->stream, launch);
}

static int launch_cache_same(const struct tutti_cached_launch *entry, const struct tutti_launch *launch)
{
    const struct tutti_flow_args *flow = launch->flow;
    return entry->calls > 0 && entry->flow.in == flow->in && entry->flow.out == flow->out &&
           entry->flow.count == flow->count && entry->launch.kernel == launch->kernel &&
           entry->launch.type == launch->type && entry->launch.op == launch->op &&
           entry->launch.blocks == launch->blocks && entry->launch.threads == launch->threads &&
           entry->launch.rows == launch->rows && memcmp(&entry->flow, flow, sizeof *flow) == 0;
}

static struct tutti_cached_launch *place_found(struct tutti_coll_state *state, const struct tutti_launch *launch)
{
    for (int i = 0; i < (state->launch_cache ? TUTTI_CACHED_LAUNCHES : 0); i++) {
        if (launch_cache_same(&state->launch_cache[i], launch))
            return &state->launch_cache[i];
    }
    return NULL;
}

/* The place of this launch: its own, or the one that it replaces. */
static struct tutti_cached_launch *cache_place_of(struct tutti_coll_state *state, const struct tutti_launch *launch)
{
    struct tutti_cached_launch *spare = NULL, *const found = place_found(state, launch);
    if (found)
        return found;
    for (int i = 0; i < TUTTI_CACHED_LAUNCHES && !spare; i++) {
        if (state->launch_cache[i].calls == 0)
            spare = &state->launch_cache[i];
    }
    /* Single launches do not replace launches that repeat: all entries grow older, and the first one that is as new
     * as a launch that has just occurred is replaced. */
    for (int i = 0; i < TUTTI_CACHED_LAUNCHES && !spare && !state->cache_stale; i++) { /* one is dropped at a time */
        struct tutti_cached_launch *entry =
            &state->launch_cache[(state->launch_lookups + (unsigned)i) % TUTTI_CACHED_LAUNCHES];
        entry->calls /= 2;
        if (entry->calls == 0)
            spare = entry;
    }
    if (spare) {
        state->cache_stale = spare->prepared;
        *spare = (struct tutti_cached_launch){.launch = *launch};
        memcpy(&spare->flow, launch->flow, sizeof spare->flow);
    }
    return spare;
}

/* Making a launch ready, or freeing it, may wait for running kernels, and kernels in stream order may run for long
 * (team/deferred_free.h). So while a communicator has a stream, kept launches are used, but none is made or freed. */
static int launch_held(struct tutti_team *team, const struct tutti_launch *launch)
{
    const struct tutti_cached_launch *entry = place_found(tutti_coll_of(team), launch);
    const int status =
        entry && entry->prepared ? team->device->launch.kept(team->stream, entry->prepared) : TUTTI_ERR_UNAVAILABLE;
    if (status != TUTTI_ERR_UNAVAILABLE) {
        tutti_coll_of(team)->launches_held++;
        return status;
    }
    return launch_fresh(team, launch);
}

int tutti_launch_cached(struct tutti_team *team, const struct tutti_launch *launch)
{
    struct tutti_coll_state *state = tutti_coll_of(team);
    if (!team->device->launch.keep || state->cache_off)
        return launch_fresh(team, launch);
    if (tutti_deferred_free_held(team->node))
        return launch_held(team, launch);
    if (!state->launch_cache) {
        state->launch_cache = calloc(TUTTI_CACHED_LAUNCHES, sizeof *state->launch_cache);
        tutti_coll_keeps(team);
    }
    struct tutti_cached_launch *entry = state->launch_cache ? cache_place_of(state, launch) : NULL;
    state->launch_lookups++;
    if (!entry)
        return launch_fresh(team, launch);
    if (entry->calls < UINT32_MAX / 2)
        entry->calls++;
    if (entry->prepared) {
        int status = team->device->launch.kept(team->stream, entry->prepared);
        if (status != TUTTI_ERR_UNAVAILABLE)
            return status;
        if (state->cache_stale)
            return launch_fresh(team, launch);
        state->cache_stale = entry->prepared;
        entry->prepared = NULL;
    }
    if (entry->calls >= TUTTI_LAUNCH_SEEN)
        state->cache_next = entry;
    return launch_fresh(team, launch);
}

static void cache_fill(void *of)
{
    struct tutti_team *team = of;
    struct tutti_coll_state *state = tutti_coll_of(team);
    struct tutti_cached_launch *entry = state->cache_next;
    tutti_deferred_free_launch(team->node, state->cache_stale);
    state->cache_stale = NULL;
    state->cache_next = NULL;
    if (!entry || tutti_deferred_free_held(team->node))
        return;
    entry->launch.flow = &entry->flow;
    int status = team->device->launch.keep(team->stream, &entry->launch, &entry->prepared);
    if (status == TUTTI_OK)
        return;
    entry->prepared = NULL;
    state->cache_off = 1; /* calls continue without it */
    tutti_info("launches cannot be kept ready: %s", tutti_status_text(status));
}

void tutti_launch_cache_fill(struct tutti_team *team)
{
    const struct tutti_coll_state *state = tutti_coll_of(team);
    if ((state->cache_next || state->cache_stale) && !tutti_fiber_put_off(cache_fill, team))
        cache_fill(team);
}
