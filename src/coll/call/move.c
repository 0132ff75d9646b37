/* A collective that moves data, over a team: announce, read what the peers can do, run the first algorithm that all
 * can. Ranks know different facts: each sees only the lengths of its own blocks. So each publishes in its arrival
 * which rows it can run, and a row is taken if all can. */
#include "coll/move/lead.h"
#include "coll/move/packing.h"

#include "coll/call/opening.h"
#include "coll/call/reopen.h"
#include "coll/call/reservation.h"
#include "coll/call/row.h"
#include "coll/state.h"
#include "core/status.h"

/* An arrival at a move, of the kind DEVICE. Its `count`: rows that the rank can run, and in the upper half those that
 * TUTTI_RULES names. Its `blocks`: multiprocessors that
 * the rank has for their kernels, 0: it takes them later; whether it chose the rows before the team was open; and a sum
 * over its sent and received lengths, which shows all ranks whether both sides of each run have one length. */
enum { HELD_BITS = 9, BEFORE_BITS = 1, SUM_BITS = 14 };
_Static_assert((int)TUTTI_MOVES <= 32 && (int)HELD_BITS + (int)BEFORE_BITS + (int)SUM_BITS <= 30,
               "an arrival has room for so many");
enum { BEFORE_AT = HELD_BITS, SUM_AT = BEFORE_AT + BEFORE_BITS };
enum { HELD_MASK = (1 << HELD_BITS) - 1, SUM_MASK = (1 << SUM_BITS) - 1 };

/* Rows that need an open team: all whose kernels meet in its channels. */
static uint32_t move_rows_of_teams(void)
{
    uint32_t rows = 0;
    for (int i = 0; i < TUTTI_MOVES; i++)
        rows |= (uint32_t)tutti_moves[i]->waits_for_peers << i;
    return rows;
}

/* Bytes of the largest block. */
static size_t move_largest(const struct tutti_move *move)
{
    uint64_t most = 0;
    for (int i = 0; i < move->sends; i++)
        most = move->send[i].bytes > most ? move->send[i].bytes : most;
    for (int i = 0; i < move->receives; i++)
        most = move->receive[i].bytes > most ? move->receive[i].bytes : most;
    return (size_t)most;
}

/* ---- what this rank can run ---- */

/* 1: the GPU has been reset since the team was opened on it. */
static int move_is_reset(const struct tutti_team *team)
{
    return team->state == TUTTI_TEAM_OPEN && team->life != tutti_gpu_life(team->gpu);
}

/* move->runs, if the blocks are runs of bytes in memory of the team's GPU; any GPU if the team is not open. */
static void move_flatten(const struct tutti_team *team, struct tutti_move *move)
{
    struct tutti_move_runs *runs = &move->runs;
    runs->before = team->state != TUTTI_TEAM_OPEN || move_is_reset(team);
    runs->are = tutti_move_flatten(team, move);
    if (team->state != TUTTI_TEAM_OPEN)
        runs->are &= move_largest(move) > 0 &&
                     (runs->gpu >= 0 || runs->packed != TUTTI_PACKED); /* or its GPU would not be known */
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
    mine.count = move_largest(call->move);
    mine.flow = call->move->runs.are ? &call->move->runs.flow : NULL;
    mine.gpu = call->move->runs.gpu;
    mine.near = call->move->runs.near;
    return mine;
}

/* Prepares their kernels, before peers wait for this rank. */
uint32_t tutti_move_able(struct tutti_team *team, const struct tutti_call *call)
{
    uint32_t able = 0;
    if (!call->move)
        return 0;
    const uint32_t permitted = tutti_moves_permitted(call->collective, move_largest(call->move), team->size,
                                                     team->is_nonblocking, call->move->spare, call->move->aside);
    if (!permitted)
        return (uint32_t)TUTTI_NO(RULES);
    if (permitted & move_rows_of_teams())
        move_flatten(team, call->move);
    const struct tutti_call mine = move_call(call);
    if (permitted & move_rows_of_teams() && call->move->runs.are &&
        tutti_opening_waits(team, &mine, TUTTI_MOVES_TYPE, TUTTI_MOVES_OP, mine.count))
        return 0;
    for (int i = 0; i < TUTTI_MOVES; i++) {
        if (permitted >> i & 1)
            able |= (uint32_t)tutti_row_can(tutti_moves[i], team, &mine) << i;
    }
    if (able & move_rows_of_teams() && !call->move->runs.before &&
        (tutti_runs_prepare(team) != TUTTI_OK || !tutti_packing_prepare(team, call->move)))
        able &= ~move_rows_of_teams();
    return able;
}

/* ---- what all ranks can run ---- */

/* For a run from rank `from` to rank `to`: the sum over all ranks is zero if both sides of each run have one length. */
static uint32_t move_sum_of(int from, int to, uint64_t bytes)
{
    const uint64_t mixed = (bytes * 64 + (uint64_t)from) * 64 + (uint64_t)to;
    return bytes == 0 ? 0 : (uint32_t)((mixed + 1) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SUM_BITS));
}

static uint32_t move_sum(const struct tutti_team *team, const struct tutti_move_flow *flow)
{
    uint32_t sum = 0;
    for (int r = 0; flow && r < team->size; r++) {
        if (r != team->rank)
            sum ^= move_sum_of(team->rank, r, flow->send[r].bytes) ^ move_sum_of(r, team->rank, flow->receive[r].bytes);
    }
    return sum;
}

void tutti_move_decline(struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_arrival mine = {.collective = (uint32_t)call->collective,
                                       .kind = TUTTI_ARRIVAL_HOST,
                                       .blocks = (uint32_t)tutti_why_take(TUTTI_REASON_OTHER),
                                       .detail = (uint64_t)(unsigned)call->root};
    tutti_team_arrive(team, &mine);
    tutti_why_set((enum tutti_reason)mine.blocks);
}

/* What all ranks know of a call when all have arrived. */
struct move_agreed {
    uint32_t able;   /* rows that all ranks can run */
    uint32_t first;  /* of these, rows to try before others: TUTTI_RULES names them on all ranks */
    uint32_t before; /* 1: some rank found out before the team was open */
    uint64_t resets; /* ranks whose GPUs have been reset since the team was opened */
};

/* Why a rank has left the call to the MPI. */
static enum tutti_reason move_reason_of(const struct tutti_arrival *theirs)
{
    if (theirs->kind == TUTTI_ARRIVAL_AHEAD)
        return TUTTI_REASON_AHEAD;
    return theirs->blocks > 0 && theirs->blocks < TUTTI_REASONS ? (enum tutti_reason)theirs->blocks
                                                                : TUTTI_REASON_HOST_SOME;
}

/* agreed->able: at first this rank's own rows. Where none is left, the reason is set. */
static int move_agree(struct tutti_team *team, const struct tutti_call *call, struct move_agreed *agreed)
{
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    struct tutti_arrival mine = {.collective = (uint32_t)call->collective,
                                 .kind = TUTTI_ARRIVAL_DEVICE,
                                 .detail = (uint64_t)(unsigned)call->root};
    uint32_t held = HELD_MASK, streams = 0, sum = 0;
    if (!agreed->able) {
        tutti_move_decline(team, call);
        return TUTTI_OK;
    }
    if (agreed->able & move_rows_of_teams()) {
        mine.kind = move_is_reset(team) ? TUTTI_ARRIVAL_RESET : TUTTI_ARRIVAL_DEVICE;
        tutti_reservation_arrive(team, call, &mine);
        mine.blocks = mine.blocks < HELD_MASK ? mine.blocks : HELD_MASK;
        mine.blocks |= (uint32_t)call->move->runs.before << BEFORE_AT;
        if (tutti_lead_is(team, call) && !call->move->runs.before && mine.kind == TUTTI_ARRIVAL_DEVICE)
            tutti_lead_offer(team, call);
    }
    if (!call->move->spare) /* or the program's hint decides */
        agreed->first = tutti_moves_first(call->collective, move_largest(call->move), team->size, team->is_nonblocking);
    mine.count = agreed->able | (uint64_t)agreed->first << 32;
    mine.blocks |= move_sum(team, call->flow) << SUM_AT;
    tutti_team_arrive(team, &mine);
    const int status = tutti_team_await(team, all);
    for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
        if (!tutti_arrival_leaves(all[r]->kind)) {
            const uint32_t theirs = all[r]->blocks & HELD_MASK;
            agreed->able &= (uint32_t)all[r]->count;
            agreed->first &= (uint32_t)(all[r]->count >> 32);
            held = theirs < held ? theirs : held;
            agreed->before |= all[r]->blocks >> BEFORE_AT & 1;
            agreed->resets |= (uint64_t)(all[r]->kind == TUTTI_ARRIVAL_RESET) << r;
            sum ^= all[r]->blocks >> SUM_AT & SUM_MASK;
            streams |= all[r]->streams;
            continue;
        }
        agreed->able = 0;
        tutti_why_set(move_reason_of(all[r]));
    }
    if (status == TUTTI_OK && tutti_team_lines_come(team, all)) /* rows chosen before are taken as before */
        tutti_team_lines_take(team);
    tutti_reservation_agreed(team, held, (int)streams);
    if (sum != 0) /* an error of the program, which fetch reports */
        agreed->able &= ~move_rows_of_teams();
    return status;
}

/* After resets of the GPUs of these ranks, where some row needs the team: gives up what it has there, so that it is
 * opened again. A team that a stream uses stays as it is, and its rows are taken out of *able. */
static int move_renew(struct tutti_team *team, struct tutti_call *call, uint64_t resets, uint32_t *able)
{
    if (!resets || !(*able & move_rows_of_teams()))
        return TUTTI_OK;
    if (team->share) {
        *able &= ~move_rows_of_teams();
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
    if (!(*able & move_rows_of_teams()))
        return TUTTI_OK;
    tutti_open_again(team);
    const int gpu = call->gpu < 0 ? call->move->current : call->gpu;
    if (team->state == TUTTI_TEAM_CLOSED && (status = tutti_open(team, gpu)) != TUTTI_OK)
        return tutti_team_break(team, status);
    if (team->state != TUTTI_TEAM_OPEN) {
        *able &= ~move_rows_of_teams();
        return TUTTI_OK;
    }
    const int ready = tutti_runs_prepare(team) == TUTTI_OK && (call->gpu < 0 || call->gpu == team->gpu) &&
                      tutti_packing_prepare(team, call->move);
    for (int i = 0; i < TUTTI_MOVES && status == TUTTI_OK; i++) {
        uint32_t all = 1;
        if (*able & move_rows_of_teams() & UINT32_C(1) << i) {
            status = tutti_team_vote(team, (uint32_t)(ready && tutti_row_can(tutti_moves[i], team, call)), &all);
            *able &= ~((uint32_t)!all << i);
        }
    }
    return status;
}

/* ---- the call ---- */

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
    }
    return status;
}

/* No row has run, though all ranks have one: where a leader launches for the others, they could offer it nothing before
 * the team was opened, or what they had offered is void. */
static void move_explain(const struct tutti_team *team, const struct tutti_call *call, const struct move_agreed *agreed)
{
    if (tutti_lead_is(team, call) && (agreed->resets || agreed->before))
        tutti_why_set(agreed->resets ? TUTTI_REASON_RESET_SHARED : TUTTI_REASON_FIRST_CALLS);
}

int tutti_move_agree(struct tutti_team *team, const struct tutti_call *call, uint32_t *able)
{
    struct move_agreed agreed = {.able = tutti_move_able(team, call)};
    const struct tutti_call mine = move_call(call);
    const int status = move_agree(team, &mine, &agreed);
    tutti_reservation_end(team);
    *able = agreed.able;
    return status;
}

int tutti_move_run_rows(struct tutti_team *team, const struct tutti_call *call, uint32_t able, const char **how)
{
    struct tutti_call mine = move_call(call);
    struct move_agreed agreed = {.able = able};
    int status = able ? tutti_coll_settle(team) : TUTTI_OK;
    *how = NULL;
    if (status != TUTTI_OK && status != TUTTI_ERR_UNAVAILABLE) /* peers would wait for this rank */
        tutti_team_break(team, status);
    if (status == TUTTI_OK)
        status = move_agree(team, &mine, &agreed);
    const int some = agreed.able != 0;
    if (status == TUTTI_OK)
        status = move_renew(team, &mine, agreed.resets, &agreed.able);
    if (status == TUTTI_OK && agreed.able && (agreed.before || agreed.resets))
        status = move_open(team, &mine, &agreed.able);
    if (status == TUTTI_OK && agreed.able)
        status = move_run(team, &mine, agreed.able & agreed.first, how);
    if (status == TUTTI_OK && agreed.able)
        status = move_run(team, &mine, agreed.able & ~agreed.first, how);
    if (status == TUTTI_OK && some && !*how)
        move_explain(team, &mine, &agreed);
    if (status == TUTTI_OK && agreed.able)
        tutti_team_unmap(team);
    tutti_reservation_end(team);
    return status;
}

int tutti_move_run(struct tutti_team *team, const struct tutti_call *call, const char **how)
{
    return tutti_move_run_rows(team, call, tutti_move_able(team, call), how);
}
