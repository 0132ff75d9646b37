/* The end of what coll/ keeps of a team, and hooks of its owner. */
#include "coll/state.h"

#include <stdlib.h>

#include "coll/coll.h"
#include "core/log.h"
#include "core/status.h"
#include "team/discard.h"

static void coll_state_end(struct tutti_team *team, int alive)
{
    struct tutti_coll_state *state = tutti_coll_of(team);
    if (state->linger.launches)
        tutti_debug("kernels that stay: %llu launched, %llu calls by mail", (unsigned long long)state->linger.launches,
                    (unsigned long long)state->linger.served);
    if (alive) {
        for (int i = 0; i < state->spares && team->device->active(); i++)
            tutti_discard_memory(team->node, state->spare[i]);
        for (int i = 0; i < (state->launch_cache ? TUTTI_CACHED_LAUNCHES : 0); i++)
            tutti_discard_launch(team->node, state->launch_cache[i].prepared);
        tutti_discard_launch(team->node, state->cache_stale);
    }
    free(state->launch_cache);
}

void tutti_coll_keeps(struct tutti_team *team)
{
    team->attached_end = coll_state_end;
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
