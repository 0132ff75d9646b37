#include "coll/call/reservation.h"

#include <stdio.h>

#include "coll/state.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"
#include "progress/engine.h"
#include "team/deferred_free.h"
#include "team/sm_budget.h"

enum {
    BYTES_LEAST = 1024,       /* of a contribution, for each block of any kernel, if it is long enough */
    NARROW_LEAST = 256 << 10, /* bytes from which on few blocks cost much time */
    WAIT_ROUNDS = 64,         /* rounds in which the rank waits for half of the blocks */
    PAUSE_FIRST_US = 5,
    PAUSE_MOST_US = 500
};

static size_t reservation_bytes_of(const struct tutti_call *call)
{
    return call->count * tutti_type_size(call->type);
}

/* Blocks that any algorithm can use, or a few more. */
static unsigned reservation_wanted(const struct tutti_team *team, const struct tutti_call *call)
{
    size_t blocks = reservation_bytes_of(call) / BYTES_LEAST + (size_t)team->size;
    return blocks < team->blocks ? (unsigned)blocks : team->blocks;
}

void tutti_reservation_arrive(struct tutti_team *team, const struct tutti_call *call, struct tutti_arrival *mine)
{
    tutti_coll_of(team)->granted = 0;
    if (mine->kind != TUTTI_ARRIVAL_DEVICE || team->state != TUTTI_TEAM_OPEN)
        return;
    mine->blocks = team->share ? team->blocks : tutti_sm_budget_alone(team, reservation_wanted(team, call));
    mine->streams = (uint32_t)tutti_deferred_free_held(team->node);
}

void tutti_reservation_agree(struct tutti_team *team, const struct tutti_arrival *const all[])
{
    uint32_t least = UINT32_MAX, streams = 0;
    for (int r = 0; r < team->size; r++) {
        least = all[r]->blocks < least ? all[r]->blocks : least;
        streams |= all[r]->streams;
    }
    tutti_reservation_agreed(team, least, (int)streams);
}

void tutti_reservation_agreed(struct tutti_team *team, unsigned least, int streams)
{
    tutti_coll_of(team)->granted = least;
    tutti_coll_of(team)->beside_streams = streams;
}

/* Rounds in which all ranks try and vote, until all have got some in one round. */
struct rounds {
    struct tutti_team *team;
    unsigned want, round;
    uint64_t next;  /* start of the next round */
    uint64_t until; /* for a share: at most this long for calls under way */
};

/* Grows from round to round, and differs between ranks, so that calls that block each other separate. */
static void rounds_put_off(struct rounds *r)
{
    uint64_t us = (uint64_t)PAUSE_FIRST_US << (r->round < 7 ? r->round : 7);
    us = us < PAUSE_MOST_US ? us : PAUSE_MOST_US;
    us += us * (((r->team->votes * 2654435761u >> 24) + (unsigned)r->team->rank * 37) & 0xff) / 256;
    r->next = tutti_now_ns() + us * 1000;
    r->round++;
}

static int is_put_off(const struct rounds *r)
{
    return r->round > 0 && tutti_now_ns() < r->next;
}

static int have_blocks(void *with)
{
    struct rounds *r = with;
    struct tutti_team *team = r->team;
    uint32_t all;
    if (is_put_off(r))
        return 0;
    const unsigned mine = team->share ? team->blocks : tutti_sm_budget_try(team, r->want, r->round < WAIT_ROUNDS);
    const int status = tutti_team_vote(team, mine, &all);
    if (status != TUTTI_OK)
        return status;
    tutti_sm_budget_give(team, all);
    tutti_coll_of(team)->granted = all;
    rounds_put_off(r);
    return all > 0;
}

int tutti_reservation_take(struct tutti_team *team, const struct tutti_call *call)
{
    struct rounds r = {.team = team, .want = reservation_wanted(team, call)};
    char what[160];
    if (tutti_coll_of(team)->granted > 0)
        return TUTTI_OK;
    tutti_sm_budget_give(team, 0); /* frees what this rank alone has taken: another rank had nothing */
    int status = have_blocks(&r);
    if (status != 0)
        return status > 0 ? TUTTI_OK : status;
    snprintf(what, sizeof what, "rank %d on %s for multiprocessors that other calls of the process, or of a peer, keep",
             team->rank, team->transport->label);
    status = tutti_progress_wait(&(const struct tutti_wait){.done = have_blocks,
                                                            .with = &r,
                                                            .what = what,
                                                            .seconds = tutti_settings()->timeout_seconds,
                                                            .quiet = 1,
                                                            .crowded = 1});
    if (status != TUTTI_ERR_TIMEOUT || team->state == TUTTI_TEAM_BROKEN)
        return status;
    tutti_error("rank %d gives up waiting for multiprocessors on %s (TUTTI_TIMEOUT_SECONDS)", team->rank,
                team->transport->label);
    return tutti_team_break(team, TUTTI_ERR_TIMEOUT);
}

/* A vote for a share: no share, as other shares have all or this rank has waited too long; none yet; or the number
 * plus one. */
enum { SHARE_NONE, SHARE_LATER };

static int have_share(void *with)
{
    struct rounds *r = with;
    struct tutti_team *team = r->team;
    uint32_t all;
    if (is_put_off(r))
        return 0;
    const int later = tutti_sm_budget_ends(team) && tutti_now_ns() < r->until;
    const unsigned offered = tutti_sm_budget_share(team, r->want, r->round < WAIT_ROUNDS);
    const int status = tutti_team_vote(team, offered ? offered + SHARE_LATER : later ? SHARE_LATER : SHARE_NONE, &all);
    const unsigned mine = status == TUTTI_OK && all > SHARE_LATER ? all - SHARE_LATER : 0;
    tutti_sm_budget_settle(team, mine);
    team->share = mine;
    if (status != TUTTI_OK)
        return status;
    if (all == SHARE_NONE && r->round >= WAIT_ROUNDS)
        return TUTTI_ERR_UNAVAILABLE;
    rounds_put_off(r);
    return mine > 0;
}

int tutti_reservation_share(struct tutti_team *team)
{
    const uint64_t most = (uint64_t)(tutti_settings()->timeout_seconds * 1e9);
    struct rounds r = {.team = team, .want = team->blocks, .until = tutti_now_ns() + most};
    const int status =
        tutti_progress_wait(&(const struct tutti_wait){.done = have_share, .with = &r, .quiet = 1, .crowded = 1});
    if (team->share > 0)
        team->blocks = team->share;
    return status;
}

int tutti_reservation_may_narrow(const struct tutti_call *call)
{
    return reservation_bytes_of(call) >= NARROW_LEAST;
}

int tutti_reservation_narrow(const struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_coll_state *state = tutti_coll_of(team);
    return !state->beside_streams && tutti_reservation_may_narrow(call) &&
           state->granted < reservation_wanted(team, call) / 2;
}

void tutti_reservation_end(struct tutti_team *team)
{
    tutti_sm_budget_give(team, 0);
    tutti_coll_of(team)->granted = 0;
}
