/* A collective that moves data, over a team: announce, read what the peers can do, run the first algorithm that all
 * can. Ranks know different facts: each sees only the lengths of its own blocks. So each publishes in its arrival
 * which rows it can run, and a row is taken if all can. */
#include <stddef.h>
#include <string.h>

#include "coll/move/blocks.h"
#include "coll/move/lead.h"
#include "coll/move/packing.h"

#include "coll/call/declined.h"
#include "coll/call/left.h"
#include "coll/call/move_agree.h"
#include "coll/call/opening.h"
#include "coll/call/reopen.h"
#include "coll/call/reservation.h"
#include "coll/call/row.h"
#include "coll/state.h"
#include "core/status.h"

uint32_t tutti_move_rows_of_teams(void)
{
    uint32_t rows = 0;
    for (int i = 0; i < TUTTI_MOVES; i++)
        rows |= (uint32_t)tutti_moves[i]->waits_for_peers << i;
    return rows;
}

size_t tutti_move_largest(const struct tutti_move *move)
{
    uint64_t most = 0;
    for (int i = 0; i < move->sends; i++)
        most = move->send[i].bytes > most ? move->send[i].bytes : most;
    for (int i = 0; i < move->receives; i++)
        most = move->receive[i].bytes > most ? move->receive[i].bytes : most;
    return (size_t)most;
}

/* Not the addresses of runs, which nothing reads before they are set. */
void tutti_move_clear(struct tutti_move *move)
{
    const size_t from = offsetof(struct tutti_move, seen), to = offsetof(struct tutti_move, runs.flow);
    memset((char *)move + from, 0, to - from);
    move->seen.memory.kind = TUTTI_MEMORY_HOST;
    for (int i = 0; i < move->sends; i++)
        move->send[i].elements.placed = 0;
    for (int i = 0; i < move->receives; i++)
        move->receive[i].elements.placed = 0;
}

/* ---- what this rank can run ---- */

int tutti_move_is_reset(const struct tutti_team *team)
{
    return team->state == TUTTI_TEAM_OPEN && team->life != tutti_gpu_life(team->gpu);
}

/* move->runs, if the blocks are runs of bytes in memory of the team's GPU; any GPU if the team is not open. */
static void move_flatten(const struct tutti_team *team, struct tutti_move *move)
{
    struct tutti_move_runs *runs = &move->runs;
    runs->before = team->state != TUTTI_TEAM_OPEN || tutti_move_is_reset(team);
    runs->are = tutti_move_flatten(team, move);
    if (team->state != TUTTI_TEAM_OPEN)
        runs->are &= tutti_move_largest(move) > 0 && (runs->gpu >= 0 || runs->packed != TUTTI_PACKED || runs->host ||
                                                      move->aside); /* or its GPU would not be known */
    else if (!runs->before)
        runs->are &= runs->gpu < 0 || runs->gpu == team->gpu;
}

/* The call with all arguments of algorithms. */
static struct tutti_call move_call(const struct tutti_call *call)
{
    struct tutti_call mine = *call;
    mine.type = TUTTI_MOVES_TYPE;
    mine.op = TUTTI_MOVES_OP;
    if (!call->move)
        return mine;
    mine.count = tutti_move_largest(call->move);
    mine.flow = call->move->runs.are ? &call->move->runs.flow : NULL;
    mine.gpu = call->move->runs.gpu;
    mine.near = call->move->runs.near;
    return mine;
}

/* Of `rows` those that this rank can run. */
static uint32_t move_of_these(const struct tutti_team *team, const struct tutti_call *call, uint32_t rows)
{
    uint32_t able = 0;
    for (int i = 0; i < TUTTI_MOVES; i++) {
        if (rows >> i & 1)
            able |= (uint32_t)tutti_row_can(tutti_moves[i], team, call) << i;
    }
    return able;
}

static enum tutti_mixed move_mixed_by(const struct tutti_team *team, const struct tutti_call *call, int ordinary)
{
    const uint32_t from_root = TUTTI_ON(BCAST) | TUTTI_ON(SCATTER) | TUTTI_ON(SCATTERV);
    if (tutti_lead_is(team, call))
        return TUTTI_MIXED_LEADERS;
    const int root = from_root >> call->collective & 1 && call->root == team->rank;
    if (!ordinary)
        return root ? TUTTI_MIXED_PINNED_ROOT : TUTTI_MIXED_PINNED;
    return root ? TUTTI_MIXED_ROOT : TUTTI_MIXED_ORDINARY;
}

int tutti_move_leaves(const struct tutti_team *team, const struct tutti_call *call, size_t largest, int ordinary,
                      int gpu)
{
    const uint32_t usual = tutti_moves_permitted(call->collective, largest, team->size, team->is_nonblocking, 0, 0);
    tutti_move_meets(gpu);
    return usual && !tutti_moves_mixed(usual, move_mixed_by(team, call, ordinary), largest, team->size);
}

/* Rows that this rank's rules name for a call without memory of the host whose longest block has so many bytes. */
static uint32_t move_usual(const struct tutti_team *team, const struct tutti_call *call, size_t largest)
{
    return tutti_moves_permitted(call->collective, largest, team->size, team->is_nonblocking, call->move->spare,
                                 call->move->aside);
}

/* Rows that this rank permits for both kinds of calls. Of a call with blocks in memory of the host, a rank that has
 * such blocks decides by their length. */
static uint32_t move_permitted(struct tutti_team *team, const struct tutti_call *call)
{
    struct tutti_move *move = call->move;
    const size_t largest = tutti_move_largest(move);
    const uint32_t usual = move_usual(team, call, largest);
    const uint32_t mixed =
        usual && !move->spare ? tutti_moves_mixed_any(usual, team->size, tutti_lead_is(team, call)) : 0;
    if (!usual)
        return (uint32_t)TUTTI_NO(RULES);
    if ((usual | mixed) & tutti_move_rows_of_teams())
        move_flatten(team, move);
    if (move->runs.host == TUTTI_HOSTED_NONE)
        return TUTTI_MOVE_ROWS(usual, mixed);
    const uint32_t fit =
        mixed ? tutti_moves_mixed(usual, move_mixed_by(team, call, move->runs.ordinary), largest, team->size) : 0;
    return fit ? TUTTI_MOVE_ROWS(0, fit) : (uint32_t)TUTTI_NO(HOST_SOME);
}

/* 1 if a rule takes calls of this length with memory of the host of some kind. */
static int move_mixed_exists(const struct tutti_team *team, const struct tutti_call *call, size_t largest)
{
    const uint32_t usual = move_usual(team, call, largest);
    return tutti_moves_mixed(usual, tutti_lead_is(team, call) ? TUTTI_MIXED_LEADERS : TUTTI_MIXED_PINNED, largest,
                             team->size) != 0;
}

/* 1 if peers that leave calls leave this one too: they have left one as long, or no rule takes it. */
static int move_stays_declined(const struct tutti_team *team, const struct tutti_call *call, size_t largest)
{
    return tutti_declined_has_been(team, call->collective, largest) || !move_mixed_exists(team, call, largest);
}

/* 1 if peers are expected to leave the call to the MPI. */
static int move_is_declined(struct tutti_team *team, const struct tutti_call *call)
{
    const size_t largest = tutti_move_largest(call->move);
    return tutti_declined_begins(team, call->collective, largest) && move_stays_declined(team, call, largest);
}

int tutti_move_declines(struct tutti_team *team, const struct tutti_call *call, size_t largest)
{
    return tutti_declined_is_next(team, call->collective, largest) && move_stays_declined(team, call, largest) &&
           tutti_declined_begins(team, call->collective, largest);
}

/* Prepares their kernels, before peers wait for this rank. Those of calls with blocks in memory of the host only if
 * this rank has such blocks: others prepare them in the call. */
uint32_t tutti_move_able(struct tutti_team *team, const struct tutti_call *call)
{
    const uint32_t of_teams = tutti_move_rows_of_teams();
    if (!call->move)
        return 0;
    const int agreed = call->move->joins;
    call->move->joins |= tutti_move_is_asked(team, call->collective);
    if (!agreed && move_is_declined(team, call))
        return (uint32_t)TUTTI_NO(HOST_BEFORE);
    const uint32_t permitted = move_permitted(team, call);
    if (!permitted)
        return 0;
    struct tutti_move_runs *runs = &call->move->runs;
    const struct tutti_call mine = move_call(call);
    const uint32_t first = runs->host ? TUTTI_MOVE_MIXED(permitted) : TUTTI_MOVE_USUAL(permitted);
    if (first & of_teams && runs->are && tutti_opening_waits(team, &mine, TUTTI_MOVES_TYPE, TUTTI_MOVES_OP))
        return 0;
    uint32_t usual = move_of_these(team, &mine, TUTTI_MOVE_USUAL(permitted)),
             mixed = move_of_these(team, &mine, TUTTI_MOVE_MIXED(permitted));
    runs->piece = runs->are ? tutti_packing_piece(team, call->move) : 0;
    if (runs->piece) {
        usual &= ~of_teams | tutti_moves_of_any_length();
        mixed &= tutti_moves_of_any_length();
    }
    if ((runs->host ? mixed : usual) & of_teams && !runs->before &&
        (tutti_runs_prepare(team) != TUTTI_OK || !tutti_packing_prepare(team, call->move))) {
        usual &= ~of_teams;
        mixed = 0;
    }
    const enum tutti_reason why = tutti_why_take(TUTTI_REASON_NONE);
    tutti_why_set(why);
    runs->why = usual ? TUTTI_REASON_NONE : (int)why;
    return TUTTI_MOVE_ROWS(usual, mixed);
}

/* After resets of the GPUs of these ranks, where some row needs the team: gives up what it has there, so that it is
 * opened again. A team that a stream uses stays as it is, and its rows are taken out of *able. */
static int move_renew(struct tutti_team *team, struct tutti_call *call, uint64_t resets, uint32_t *able)
{
    if (!resets || !(*able & tutti_move_rows_of_teams()))
        return TUTTI_OK;
    if (team->share) {
        *able &= ~tutti_move_rows_of_teams();
        return TUTTI_OK;
    }
    call->gpu = call->gpu < 0 ? team->gpu : call->gpu;
    const int status = tutti_reopen_close(team, resets);
    /* What this rank offered before it noticed the reset is void: the team that is opened next holds none of it. */
    tutti_team_shares(team, team->rank)->listed = 0;
    return status == TUTTI_OK ? status : tutti_team_break(team, status);
}

/* Called if some rank did not know the open team, and some row needs it: opens it if it is not open yet. If the team
 * cannot be opened, or ranks cannot take part after all, removes those rows from *able. The same on all ranks. */
static int move_open(struct tutti_team *team, const struct tutti_call *call, uint32_t *able)
{
    int status = TUTTI_OK;
    if (!(*able & tutti_move_rows_of_teams()))
        return TUTTI_OK;
    tutti_open_again(team);
    const int gpu = call->gpu < 0 ? call->move->current : call->gpu;
    if (team->state == TUTTI_TEAM_CLOSED && (status = tutti_open(team, gpu)) != TUTTI_OK)
        return tutti_team_break(team, status);
    if (team->state != TUTTI_TEAM_OPEN) {
        *able &= ~tutti_move_rows_of_teams();
        return TUTTI_OK;
    }
    const int ready = tutti_runs_prepare(team) == TUTTI_OK && (call->gpu < 0 || call->gpu == team->gpu) &&
                      tutti_packing_prepare(team, call->move);
    for (int i = 0; i < TUTTI_MOVES && status == TUTTI_OK; i++) {
        uint32_t all = 1;
        if (*able & tutti_move_rows_of_teams() & UINT32_C(1) << i) {
            status = tutti_team_vote(team, (uint32_t)(ready && tutti_row_can(tutti_moves[i], team, call)), &all);
            *able &= ~((uint32_t)!all << i);
        }
    }
    return status;
}

/* ---- the call ---- */

/* In how many pieces all ranks make the call, which have as many bytes of each run. */
static int move_cut(struct tutti_team *team, const struct tutti_call *call, unsigned piece)
{
    struct tutti_move_runs *const runs = &call->move->runs;
    uint32_t least = 0;
    runs->piece = piece;
    runs->pieces = 0;
    if (!piece)
        return TUTTI_OK;
    uint64_t longest = tutti_runs_longest(team, &runs->flow);
    const uint64_t own = runs->flow.receive[team->rank].bytes, each = UINT64_C(1) << piece;
    longest = own > longest ? own : longest;
    const int status = tutti_team_vote(team, UINT32_MAX - (uint32_t)((longest + each - 1) >> piece), &least);
    runs->pieces = UINT32_MAX - least;
    return status;
}

/* Runs the first of these rows that fits, if *how is not set. */
static int move_run(struct tutti_team *team, const struct tutti_call *call, uint32_t rows, const char **how)
{
    int status = TUTTI_OK;
    for (int i = 0; i < TUTTI_MOVES && status == TUTTI_OK && !*how; i++) {
        int fits = 0;
        if (!(rows >> i & 1))
            continue;
        if (tutti_moves[i]->waits_for_peers)
            status = tutti_reservation_take(team, call);
        if (status == TUTTI_OK)
            status = tutti_row_run(tutti_moves[i], team, call, &fits);
        *how = fits ? tutti_moves[i]->how : NULL;
        if (fits && tutti_moves[i]->posts)
            tutti_coll_of(team)->posts |= UINT32_C(1) << call->collective;
    }
    return status;
}

/* The call, for which this rank had rows, has gone by the row of this `how`, or by none. */
static void move_missed(const struct tutti_team *team, const struct tutti_call *call, const char *how)
{
    for (uint32_t named = move_usual(team, call, call->count); named; named &= named - 1) {
        const struct tutti_algorithm *const row = tutti_moves[__builtin_ctz(named)];
        if (row->missed && row->how != how)
            row->missed(team, call);
    }
}

/* Blocks that are still posted: another row was taken, or none. */
static void move_unpost(struct tutti_team *team, const struct tutti_call *call)
{
    if (!call->move || !call->move->posted)
        return;
    tutti_blocks_unpost(call->move);
    tutti_coll_of(team)->posts &= ~(UINT32_C(1) << call->collective);
}

/* No row has run, though all ranks have one: where a leader launches for the others, they could offer it nothing before
 * the team was opened, or what they had offered is void. */
static void move_explain(const struct tutti_team *team, const struct tutti_call *call,
                         const struct tutti_move_agreed *agreed)
{
    if (tutti_lead_is(team, call) && (agreed->resets || agreed->before))
        tutti_why_set(agreed->resets ? TUTTI_REASON_RESET_SHARED : TUTTI_REASON_FIRST_CALLS);
    else if (agreed->hosted)
        tutti_why_set(TUTTI_REASON_HOST_SOME);
}

int tutti_move_agree(struct tutti_team *team, const struct tutti_call *call, uint32_t *able)
{
    struct tutti_move_agreed agreed = {.able = tutti_move_able(team, call)};
    const struct tutti_call mine = move_call(call);
    const int status = tutti_move_meet(team, &mine, &agreed);
    tutti_reservation_end(team);
    *able = agreed.able;
    return status;
}

int tutti_move_run_rows(struct tutti_team *team, const struct tutti_call *call, uint32_t able, const char **how)
{
    struct tutti_call mine = move_call(call);
    struct tutti_move_agreed agreed = {.able = able, .runs = 1};
    int leaves = 0, status = able ? tutti_call_settle(team, &leaves) : TUTTI_OK;
    *how = NULL;
    if (leaves) {
        tutti_why_set(TUTTI_REASON_COMM);
        agreed.able = 0;
    } else if (status == TUTTI_OK) {
        status = tutti_move_meet(team, &mine, &agreed);
    }
    const int some = agreed.able != 0;
    if (status == TUTTI_OK)
        status = move_renew(team, &mine, agreed.resets, &agreed.able);
    if (status == TUTTI_OK && agreed.able && (agreed.before || agreed.resets))
        status = move_open(team, &mine, &agreed.able);
    if (status == TUTTI_OK && agreed.able)
        status = move_cut(team, &mine, agreed.piece);
    if (status == TUTTI_OK && agreed.able)
        status = move_run(team, &mine, agreed.able & agreed.first, how);
    if (status == TUTTI_OK && agreed.able)
        status = move_run(team, &mine, agreed.able & ~agreed.first, how);
    if (status == TUTTI_OK && some && !*how)
        move_explain(team, &mine, &agreed);
    move_unpost(team, call);
    if (status == TUTTI_OK && TUTTI_MOVE_USUAL(able))
        move_missed(team, &mine, *how);
    if (status == TUTTI_OK && agreed.able)
        tutti_team_unmap(team);
    tutti_reservation_end(team);
    return status;
}

int tutti_move_run(struct tutti_team *team, const struct tutti_call *call, const char **how)
{
    return tutti_move_run_rows(team, call, tutti_move_able(team, call), how);
}
