/* The arrivals of a move: which rows each rank can run, and what all know when all have arrived. */
#include "coll/call/move_agree.h"

#include <stdatomic.h>

#include "coll/call/declined.h"
#include "coll/call/left.h"
#include "coll/call/reservation.h"
#include "coll/move/blocks.h"
#include "coll/move/lead.h"
#include "coll/state.h"
#include "core/status.h"

/* An arrival at a move, of the kind DEVICE. Its `blocks`: multiprocessors that the rank has for their kernels, 0: it
 * takes them later; whether it chose the rows before the team was open; and a sum over its sent and received lengths,
 * which shows all ranks whether both sides of each run have one length. */
enum { HELD_BITS = 9, BEFORE_BITS = 1, SUM_BITS = 14 };
_Static_assert((int)HELD_BITS + (int)BEFORE_BITS + (int)SUM_BITS <= 30, "an arrival has room for so many");
enum { BEFORE_AT = HELD_BITS, SUM_AT = BEFORE_AT + BEFORE_BITS };
enum { HELD_MASK = (1 << HELD_BITS) - 1, SUM_MASK = (1 << SUM_BITS) - 1 };

/* Its `count`: TUTTI_MOVE_ROWS(), rows that TUTTI_RULES names, enum tutti_hosted, the piece, runs.why, and whether the
 * rank has posted its blocks. */
enum { ROWS_BITS = 16, PIECE_BITS = 5, WHY_BITS = 7 };
enum {
    FIRST_AT = 2 * ROWS_BITS,
    HOST_AT = FIRST_AT + ROWS_BITS,
    PIECE_AT = HOST_AT + 2,
    WHY_AT = PIECE_AT + PIECE_BITS,
    POSTED_AT = WHY_AT + WHY_BITS
};
enum { PIECE_MASK = (1 << PIECE_BITS) - 1, WHY_MASK = (1 << WHY_BITS) - 1 };
_Static_assert((int)TUTTI_MOVES <= (int)ROWS_BITS, "a word has room for so many rows");
_Static_assert((int)TUTTI_REASONS <= (int)WHY_MASK && (int)POSTED_AT < 63, "and for each reason");

static uint64_t move_count(const struct tutti_move_agreed *agreed, const struct tutti_move_runs *runs)
{
    return (uint64_t)agreed->able | (uint64_t)agreed->first << FIRST_AT | (uint64_t)runs->host << HOST_AT |
           (uint64_t)runs->piece << PIECE_AT | (uint64_t)runs->why << WHY_AT | (uint64_t)agreed->posted << POSTED_AT;
}

static int move_host_of(const struct tutti_arrival *theirs)
{
    return (int)(theirs->count >> HOST_AT & 3);
}

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

/* ---- ranks whose blocks lie in memory of the host ---- */

static uint32_t move_bit(const struct tutti_call *call)
{
    return UINT32_C(1) << call->collective;
}

int tutti_move_is_asked(const struct tutti_team *team, enum tutti_collective collective)
{
    return (int)(atomic_load_explicit(&team->slot[team->rank]->asked, memory_order_relaxed) >> collective & 1);
}

/* A rank has left the call to the MPI since its blocks lie in memory of the host, where this one has device memory. If
 * the rules name a row for such a call of this length, with the kind of memory that reaches furthest, asks it to stay
 * in the next call of the collective. */
static void move_ask(const struct tutti_team *team, const struct tutti_call *call, uint32_t rows, int r)
{
    _Atomic uint32_t *const asked = &team->slot[r]->asked;
    if (!(atomic_load_explicit(asked, memory_order_relaxed) & move_bit(call)) &&
        tutti_moves_mixed(rows, tutti_lead_is(team, call) ? TUTTI_MIXED_LEADERS : TUTTI_MIXED_PINNED,
                          tutti_move_largest(call->move), team->size))
        atomic_fetch_or_explicit(asked, move_bit(call), memory_order_relaxed);
}

/* This rank has stayed, and no other has device memory. */
static void move_ask_no_more(struct tutti_team *team, const struct tutti_call *call)
{
    atomic_fetch_and_explicit(&team->slot[team->rank]->asked, ~move_bit(call), memory_order_relaxed);
}

/* ---- what all ranks can run ---- */

/* Why a rank has left the call to the MPI. */
static enum tutti_reason move_reason_of(const struct tutti_arrival *theirs)
{
    if (theirs->kind == TUTTI_ARRIVAL_AHEAD)
        return TUTTI_REASON_AHEAD;
    return theirs->blocks > 0 && theirs->blocks < TUTTI_REASONS ? (enum tutti_reason)theirs->blocks
                                                                : TUTTI_REASON_HOST_SOME;
}

/* `why` a rank cannot take part, or TUTTI_REASON_NONE where the ranks have no row in common, as this rank counts it. A
 * rank looks up the rules by its own longest block: where they leave out the blocks of another rank alone, the lengths
 * differ. */
static enum tutti_reason move_why(const struct tutti_call *call, enum tutti_reason why)
{
    const int by_rules = why == TUTTI_REASON_NONE || why == TUTTI_REASON_RULES || why == TUTTI_REASON_RULES_DEFAULT;
    return by_rules && call->move->runs.why == TUTTI_REASON_NONE ? TUTTI_REASON_LENGTHS : why;
}

/* What the arrivals say together. */
struct move_heard {
    uint32_t rows, held, streams, sum;
    enum tutti_reason why;       /* of a rank without a row for blocks in device memory */
    int left, hosted, on_device; /* ranks that left; that have blocks in memory of the host; that have device memory */
    int host, before;            /* of those that left: for memory of the host, now; in the calls before */
};

static void move_hear(struct tutti_team *team, const struct tutti_call *call, int r, const struct tutti_arrival *theirs,
                      struct tutti_move_agreed *agreed, struct move_heard *heard)
{
    if (tutti_arrival_leaves(theirs->kind)) {
        const enum tutti_reason reason = move_reason_of(theirs);
        heard->left++;
        heard->host += reason == TUTTI_REASON_HOST_SOME;
        heard->before += reason == TUTTI_REASON_HOST_BEFORE;
        tutti_why_set(move_why(call, reason));
        if (reason == TUTTI_REASON_HOST_SOME && call->move->runs.host != TUTTI_HOSTED_ALL)
            move_ask(team, call, TUTTI_MOVE_MIXED(agreed->able), r);
        return;
    }
    const uint32_t held = theirs->blocks & HELD_MASK;
    const unsigned piece = (unsigned)(theirs->count >> PIECE_AT & PIECE_MASK);
    const enum tutti_reason why = (enum tutti_reason)(theirs->count >> WHY_AT & WHY_MASK);
    heard->rows &= (uint32_t)theirs->count;
    heard->held = held < heard->held ? held : heard->held;
    heard->sum ^= theirs->blocks >> SUM_AT & SUM_MASK;
    heard->streams |= theirs->streams;
    heard->why = why != TUTTI_REASON_NONE ? why : heard->why;
    heard->hosted += move_host_of(theirs) != TUTTI_HOSTED_NONE;
    heard->on_device += move_host_of(theirs) != TUTTI_HOSTED_ALL;
    agreed->first &= (uint32_t)(theirs->count >> FIRST_AT) & ((1 << ROWS_BITS) - 1);
    agreed->posted &= (int)(theirs->count >> POSTED_AT);
    agreed->before |= theirs->blocks >> BEFORE_AT & 1;
    agreed->resets |= (uint64_t)(theirs->kind == TUTTI_ARRIVAL_RESET) << r;
    if (piece && (!agreed->piece || piece < agreed->piece))
        agreed->piece = piece;
}

/* The rows of the call, by what all ranks have. */
static void move_conclude(struct tutti_team *team, const struct tutti_call *call, const struct move_heard *heard,
                          struct tutti_move_agreed *agreed)
{
    agreed->hosted = heard->hosted > 0;
    agreed->able = agreed->hosted ? TUTTI_MOVE_MIXED(heard->rows) : TUTTI_MOVE_USUAL(heard->rows);
    if (heard->left || !heard->on_device)
        agreed->able = 0;
    else if (heard->hosted && !agreed->able)
        tutti_why_set(TUTTI_REASON_HOST_SOME);
    else if (!agreed->able)
        tutti_why_set(move_why(call, heard->why));
    call->move->all_posted = agreed->posted;
    if (heard->sum != 0) /* an error of the program, which fetch reports */
        agreed->able &= ~tutti_move_rows_of_teams();
    if (call->move->runs.host == TUTTI_HOSTED_ALL && !heard->on_device)
        move_ask_no_more(team, call);
}

/* Where this rank expects a row that posts, since the last such call had one, does so. If it cannot now, run() tries
 * again, and says why not. */
static int move_post(struct tutti_team *team, const struct tutti_call *call, const struct tutti_move_agreed *agreed)
{
    const uint32_t usual = TUTTI_MOVE_USUAL(agreed->able), named = usual & agreed->first, rows = named ? named : usual;
    uint16_t *const first = tutti_team_rndvs_next(team);
    if (!rows || !first || !tutti_moves[__builtin_ctz(rows)]->posts || !(tutti_coll_of(team)->posts & move_bit(call)))
        return 0;
    const int posted = tutti_blocks_post(team, call->move, first);
    if (!posted)
        (void)tutti_why_take(TUTTI_REASON_OTHER);
    return posted;
}

int tutti_move_meet(struct tutti_team *team, const struct tutti_call *call, struct tutti_move_agreed *agreed)
{
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    struct tutti_arrival mine = {.collective = (uint32_t)call->collective,
                                 .kind = TUTTI_ARRIVAL_DEVICE,
                                 .detail = (uint64_t)(unsigned)call->root};
    if (!agreed->able) {
        tutti_move_decline(team, call);
        return TUTTI_OK;
    }
    struct tutti_move_runs *const runs = &call->move->runs;
    struct move_heard heard = {.rows = agreed->able, .held = HELD_MASK};
    /* Rows that this rank expects to take. For the others it takes nothing before all have arrived. */
    const uint32_t likely = runs->host ? TUTTI_MOVE_MIXED(agreed->able) : TUTTI_MOVE_USUAL(agreed->able);
    if ((TUTTI_MOVE_USUAL(agreed->able) | TUTTI_MOVE_MIXED(agreed->able)) & tutti_move_rows_of_teams()) {
        mine.kind = tutti_move_is_reset(team) ? TUTTI_ARRIVAL_RESET : TUTTI_ARRIVAL_DEVICE;
        if (likely & tutti_move_rows_of_teams())
            tutti_reservation_arrive(team, call, &mine);
        else
            runs->before |= runs->packed || !tutti_coll_of(team)->moves_prepared;
        mine.blocks = mine.blocks < HELD_MASK ? mine.blocks : HELD_MASK;
        mine.blocks |= (uint32_t)runs->before << BEFORE_AT;
        if (agreed->runs && tutti_lead_is(team, call) && !runs->before && mine.kind == TUTTI_ARRIVAL_DEVICE &&
            (likely & tutti_move_rows_of_teams() || tutti_coll_of(team)->mixed & move_bit(call)))
            tutti_lead_offer(team, call);
    }
    if (!call->move->spare) /* or the program's hint decides */
        agreed->first =
            tutti_moves_first(call->collective, tutti_move_largest(call->move), team->size, team->is_nonblocking);
    if (agreed->runs && !runs->host)
        agreed->posted = move_post(team, call, agreed);
    mine.count = move_count(agreed, runs);
    mine.blocks |= move_sum(team, call->flow) << SUM_AT;
    tutti_team_arrive(team, &mine);
    const int status = tutti_team_await(team, all);
    if (tutti_call_is_left(team, status)) {
        tutti_why_set(TUTTI_REASON_COMM);
        agreed->able = 0;
        return TUTTI_OK;
    }
    for (int r = 0; r < team->size && status == TUTTI_OK; r++)
        move_hear(team, call, r, all[r], agreed, &heard);
    if (status == TUTTI_OK && tutti_team_lines_come(team, all)) /* rows chosen before are taken as before */
        tutti_team_lines_take(team);
    tutti_reservation_agreed(team, heard.held, (int)heard.streams);
    move_conclude(team, call, &heard, agreed);
    if (status == TUTTI_OK) /* ranks that were asked to stay have not left */
        tutti_declined_note(team, call->collective, tutti_move_largest(call->move), heard.left,
                            heard.host + (heard.left || agreed->able ? 0 : heard.hosted), heard.before);
    tutti_coll_of(team)->mixed &= ~move_bit(call);
    tutti_coll_of(team)->mixed |= heard.hosted ? move_bit(call) : 0;
    return status;
}
