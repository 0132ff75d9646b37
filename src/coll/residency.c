#include "coll/residency.h"

#include <time.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"
#include "team/discard.h"
#include "team/room.h"

enum {
    BYTES_LEAST = 1024,       /* of a contribution that a block of any kernel moves, where there is so much */
    NARROW_LEAST = 256 << 10, /* bytes from which on few blocks cost much time */
    PATIENT = 64,             /* rounds in which half of the blocks are waited for */
    PAUSE_FIRST_US = 5,
    PAUSE_MOST_US = 500
};

static size_t bytes_of(const struct tutti_reduce *call)
{
    return call->count * tutti_type_size(call->type);
}

/* Blocks that any algorithm has use for, or a few more. */
static unsigned wanted(const struct tutti_team *team, const struct tutti_reduce *call)
{
    size_t blocks = bytes_of(call) / BYTES_LEAST + (size_t)team->size;
    return blocks < team->blocks ? (unsigned)blocks : team->blocks;
}

void tutti_residency_arrive(struct tutti_team *team, const struct tutti_reduce *call, struct tutti_arrival *mine)
{
    team->granted = 0;
    if (mine->kind != TUTTI_ARRIVAL_DEVICE || team->state != TUTTI_TEAM_OPEN)
        return;
    mine->blocks = team->share ? team->blocks : tutti_room_alone(team, wanted(team, call));
    mine->streams = (uint32_t)tutti_discard_held(team->node);
}

void tutti_residency_agree(struct tutti_team *team, const struct tutti_arrival *const all[])
{
    team->granted = UINT32_MAX;
    team->beside_streams = 0;
    for (int r = 0; r < team->size; r++) {
        team->granted = all[r]->blocks < team->granted ? all[r]->blocks : team->granted;
        team->beside_streams |= (int)all[r]->streams;
    }
}

/* Longer from round to round, and another one on each rank: calls that keep each other out come apart. */
static void pause_before(const struct tutti_team *team, unsigned round)
{
    long us = PAUSE_FIRST_US << (round < 7 ? round : 7);
    us = us < PAUSE_MOST_US ? us : PAUSE_MOST_US;
    us += us * (long)(((team->votes * 2654435761u >> 24) + (unsigned)team->rank * 37) & 0xff) / 256;
    const struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

int tutti_residency_take(struct tutti_team *team, const struct tutti_reduce *call)
{
    const unsigned want = wanted(team, call);
    const uint64_t start = tutti_now_ns(), second = 1000000000;
    int said = 0;
    if (team->granted > 0)
        return TUTTI_OK;
    tutti_room_give(team, 0); /* what this rank had alone: another one had nothing */
    for (unsigned round = 0;; round++) {
        unsigned mine = team->share ? team->blocks : tutti_room_try(team, want, round < PATIENT);
        uint32_t all;
        int status = tutti_team_vote(team, mine, &all);
        if (status != TUTTI_OK)
            return status;
        if (all > 0) {
            tutti_room_give(team, all);
            team->granted = all;
            return TUTTI_OK;
        }
        tutti_room_give(team, 0);
        uint64_t waited = tutti_now_ns() - start;
        if (!said && waited > (uint64_t)tutti_settings()->stall_seconds * second) {
            said = 1;
            tutti_warn("rank %d has waited %llu s on %s for multiprocessors that other calls of the process, or of a "
                       "peer, keep",
                       team->rank, (unsigned long long)(waited / second), team->transport->label);
        }
        if (waited > (uint64_t)tutti_settings()->timeout_seconds * second) {
            tutti_error("rank %d gives up waiting for multiprocessors on %s (TUTTI_TIMEOUT_SECONDS)", team->rank,
                        team->transport->label);
            return tutti_team_break(team, TUTTI_ERR_TIMEOUT);
        }
        pause_before(team, round);
    }
}

int tutti_residency_narrow(const struct tutti_team *team, const struct tutti_reduce *call)
{
    return !team->beside_streams && bytes_of(call) >= NARROW_LEAST && team->granted < wanted(team, call) / 2;
}

void tutti_residency_end(struct tutti_team *team)
{
    tutti_room_give(team, 0);
    team->granted = 0;
}
