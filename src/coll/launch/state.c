/* The end of coll/'s state of a team, and hooks of its owner. */
#include "coll/state.h"

#include <stdlib.h>

#include "coll/coll.h"
#include "coll/launch/side_streams.h"
#include "core/log.h"
#include "core/status.h"
#include "dtype/plan.h"
#include "team/deferred_free.h"

static void coll_state_end(struct tutti_team *team, int alive)
{
    struct tutti_coll_state *state = tutti_coll_of(team);
    if (state->linger.launches)
        tutti_debug("kernels that stay: %llu launched, %llu calls by mail", (unsigned long long)state->linger.launches,
                    (unsigned long long)state->linger.served);
    if (alive) {
        const int lives = state->spares && tutti_device_active(team->device) && team->life == tutti_gpu_life(team->gpu);
        for (int i = 0; i < state->spares && lives; i++)
            tutti_deferred_free_memory(team->node, state->spare[i]);
        for (int i = 0; i < (state->launch_cache ? TUTTI_CACHED_LAUNCHES : 0); i++)
            tutti_deferred_free_launch(team->node, state->launch_cache[i].prepared);
        tutti_deferred_free_launch(team->node, state->cache_stale);
    }
    for (int i = 0; i < 2; i++) {
        if (state->sides[i])
            tutti_side_streams_close(team, state->sides[i],
                                     alive && tutti_device_active(team->device) &&
                                         team->life == tutti_gpu_life(team->gpu));
    }
    free(state->launch_cache);
    for (size_t i = 0; i < state->plans; i++)
        tutti_plan_drop(state->plan[i]);
    free(state->plan);
}

void tutti_coll_keeps(struct tutti_team *team)
{
    team->attached_end = coll_state_end;
}

int tutti_coll_spare(struct tutti_team *team, int gpu, size_t bytes)
{
    struct tutti_coll_state *state = tutti_coll_of(team);
    if (state->spare_bytes >= bytes)
        return TUTTI_OK;
    size_t more = bytes > 2 * state->spare_bytes ? bytes : 2 * state->spare_bytes;
    int status = state->spares < TUTTI_SPARES ? team->device->memory.alloc(gpu, more, &state->spare[state->spares])
                                              : TUTTI_ERR_MEMORY;
    if (status != TUTTI_OK)
        return status;
    tutti_coll_keeps(team);
    state->spares++;
    state->spare_bytes = more;
    return TUTTI_OK;
}

int tutti_coll_hold_plan(struct tutti_team *team, const struct tutti_plan *plan)
{
    struct tutti_coll_state *state = tutti_coll_of(team);
    for (size_t i = state->plans; i-- > 0;) {
        if (state->plan[i] == plan)
            return TUTTI_OK;
    }
    if ((state->plans & (state->plans + 1)) == 0) { /* full: sizes of 1, 3, 7 ... */
        const struct tutti_plan **more = realloc(state->plan, 2 * (state->plans + 1) * sizeof *more);
        if (!more)
            return TUTTI_ERR_MEMORY;
        state->plan = more;
    }
    tutti_coll_keeps(team);
    state->plan[state->plans++] = tutti_plan_hold(plan);
    return TUTTI_OK;
}

void tutti_coll_renew(struct tutti_team *team)
{
    struct tutti_coll_state *state = tutti_coll_of(team);
    coll_state_end(team, 1);
    *state = (struct tutti_coll_state){
        .settle = state->settle,
        .settle_with = state->settle_with,
        .refused = state->refused,
        .backoff = state->backoff,
        .other_left = state->other_left,
        .other_backoff = state->other_backoff,
    };
    team->attached_end = NULL;
}

int tutti_coll_owed(struct tutti_team *team)
{
    struct tutti_coll_state *const state = tutti_coll_of(team);
    const int owed = state->owed;
    if (__builtin_expect(owed != TUTTI_OK, 0))
        state->owed = TUTTI_OK;
    return owed;
}

void tutti_coll_settle_by(struct tutti_team *team, int (*settle)(void *with), void *with)
{
    tutti_coll_of(team)->settle = settle;
    tutti_coll_of(team)->settle_with = with;
}

int tutti_coll_settle(const struct tutti_team *team)
{
    const struct tutti_coll_state *state = tutti_coll_of(team);
    return state->settle ? state->settle(state->settle_with) : TUTTI_OK;
}
