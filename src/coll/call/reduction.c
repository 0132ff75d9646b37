/* A reduction over a team: announce, read the peers' arrivals, choose by rule, run. */
#include "core/log.h"
#include "core/phases.h"
#include "core/reasons.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"
#include "progress/fiber.h"

#include "coll/call/declined.h"
#include "coll/call/left.h"
#include "coll/call/opening.h"
#include "coll/call/reopen.h"
#include "coll/call/reservation.h"
#include "coll/call/row.h"
#include "coll/launch/flow.h"
#include "coll/launch/linger.h"
#include "coll/state.h"

/* Ranks with different rules would choose different algorithms and wait for each other forever. */
static int agree_on_rules(struct tutti_team *team)
{
    int begin, defaults;
    uint32_t hash = tutti_rules_hash(&begin, &defaults), least, most = ~hash;
    tutti_coll_of(team)->rules = begin;
    int status = tutti_team_vote(team, hash, &least);
    if (status == TUTTI_OK)
        status = tutti_team_vote(team, ~hash, &most);
    if (status != TUTTI_OK || least == ~most)
        return status;
    tutti_coll_of(team)->rules = defaults;
    if (team->rank == 0)
        tutti_warn("%s: its ranks have different rules (TUTTI_RULES, TUTTI_RULES_FILE): the defaults are used",
                   team->transport->label);
    return TUTTI_OK;
}

int tutti_open(struct tutti_team *team, int gpu)
{
    int status = tutti_team_open(team, gpu);
    if (status != TUTTI_OK || team->state != TUTTI_TEAM_OPEN)
        return status;
    tutti_coll_of(team)->linger = (struct tutti_linger){.us = 0};
    tutti_coll_of(team)->moves_prepared = 0; /* it may be another GPU than before */
    tutti_opening_done();
    uint32_t blocks = team->blocks, most = (uint32_t)tutti_settings()->blocks;
    blocks = most > 0 && most < blocks ? most : blocks;
    blocks = team->blocks_most > 0 && team->blocks_most < blocks ? team->blocks_most : blocks;
    status = tutti_team_vote(team, blocks, &blocks);
    team->blocks = blocks;
    if (status == TUTTI_OK)
        status = tutti_linger_agree(team);
    if (status == TUTTI_OK)
        status = agree_on_rules(team);
    if (status == TUTTI_OK)
        tutti_rows_prepare(team, 0);
    return status;
}

/* The first algorithm that the rules name and that can run; it may still find that it does not fit. */
static const struct tutti_algorithm *first_choice(const struct tutti_team *team, const struct tutti_call *call)
{
    const int section = tutti_rules_section(call->collective);
    size_t bytes = call->count * tutti_type_size(call->type);
    int from = tutti_rules_begin(tutti_coll_of(team)->rules), algorithm;
    do
        algorithm = tutti_rules_next_of(section, bytes, team->size, &from);
    while (algorithm >= 0 && !tutti_row_can(tutti_algorithms[algorithm], team, call));
    return algorithm >= 0 ? tutti_algorithms[algorithm] : tutti_algorithm_last();
}

static int reduction_pass(enum tutti_reduce_outcome *taken, const char **why, const char *reason)
{
    *taken = TUTTI_REDUCE_DECLINED;
    *why = reason;
    return TUTTI_OK;
}

/* A nonblocking call runs on a thread that must not call the MPI, and the transport is the MPI. */
static int call_reduction_staged(struct tutti_team *team, const struct tutti_call *call,
                                 enum tutti_reduce_outcome *taken, const char **why)
{
    if (team->is_nonblocking)
        return reduction_pass(taken, why, TUTTI_REASON_TEXT(NONBLOCKING_NONE));
    const struct tutti_algorithm *row = tutti_algorithm_last();
    int fits, status = tutti_row_run(row, team, call, &fits);
    *taken = TUTTI_REDUCE_DONE;
    *why = row->name;
    return status;
}

/* The MPI makes the call on all ranks; what it cannot reduce goes through it. */
static int reduction_by_mpi(struct tutti_team *team, const struct tutti_call *call, enum tutti_reduce_outcome *taken,
                            const char **why, const char *reason)
{
    if (call->host_ok)
        return reduction_pass(taken, why, reason);
    const int status = call_reduction_staged(team, call, taken, why), owed = tutti_coll_owed(team);
    return status == TUTTI_OK ? owed : status;
}

static int run_row(struct tutti_team *team, const struct tutti_call *call, size_t bytes,
                   enum tutti_reduce_outcome *taken, const char **why)
{
    int from = tutti_rules_begin(tutti_coll_of(team)->rules), algorithm, tried = 0;
    while ((algorithm = tutti_rules_next_of(tutti_rules_section(call->collective), bytes, team->size, &from)) >= 0) {
        const struct tutti_algorithm *row = tutti_algorithms[algorithm], *instead = NULL;
        if (row->last_resort)
            break;
        if (!tutti_row_can(row, team, call))
            continue;
        int fits = 0, status = row->waits_for_peers ? tutti_reservation_take(team, call) : TUTTI_OK;
        if (status == TUTTI_OK && row->waits_for_peers && !tried && tutti_reservation_narrow(team, call))
            instead = tutti_algorithm_instead(
                team, call); /* the substitute waits for no peer, so it may use all free multiprocessors */
        if (instead) {
            tried = 1;
            status = tutti_row_run(instead, team, call, &fits);
            row = fits ? instead : row;
        }
        if (status == TUTTI_OK && !fits) {
            fits = 1;
            status = tutti_row_run(row, team, call, &fits);
        }
        if (status != TUTTI_OK || fits) {
            *why = row->name;
            return status;
        }
    }
    return call_reduction_staged(team, call, taken, why);
}

/* Expects the kernels of a large call to take as long as the last ones of as many bytes. */
static int run_by_rule(struct tutti_team *team, const struct tutti_call *call, enum tutti_reduce_outcome *taken,
                       const char **why)
{
    enum { LONG_BYTES = 1 << 20 };
    const size_t bytes = call->count * tutti_type_size(call->type);
    tutti_team_expect(team, bytes >= LONG_BYTES ? (uint64_t)bytes << 4 | (uint64_t)call->collective : 0);
    const int status = run_row(team, call, bytes, taken, why);
    tutti_team_expect(team, 0);
    return status;
}

/* Kernels that the rules may choose for the call. */
static uint32_t kernels_for(const struct tutti_team *team, const struct tutti_call *call)
{
    const int section = tutti_rules_section(call->collective);
    const size_t bytes = call->count * tutti_type_size(call->type);
    int from = tutti_rules_begin(tutti_coll_of(team)->rules), algorithm;
    uint32_t kernels = 0;
    while ((algorithm = tutti_rules_next_of(section, bytes, team->size, &from)) >= 0) {
        const struct tutti_algorithm *row = tutti_algorithms[algorithm], *instead = NULL;
        if (row->last_resort)
            break;
        if (!tutti_row_can(row, team, call))
            continue;
        if (row->waits_for_peers && tutti_reservation_may_narrow(call))
            instead = tutti_algorithm_instead(team, call);
        kernels |= row->kernels | (instead ? instead->kernels : 0);
        if (!row->maps_buffers) /* the others always fit */
            break;
    }
    return tutti_coll_of(team)->linger.us > 0 ? kernels : kernels & ~TUTTI_LAUNCHES(LINGER);
}

void tutti_prepare(struct tutti_team *team, const struct tutti_call *call)
{
    struct tutti_coll_state *state = tutti_coll_of(team);
    if (team->state != TUTTI_TEAM_OPEN || !team->leader || !team->device->launch.prepare)
        return;
    if (state->last.count == call->count && state->last.collective == call->collective &&
        state->last.type == call->type && state->last.op == call->op)
        return;
    state->last.count = call->count;
    state->last.collective = (uint8_t)call->collective;
    state->last.type = (uint8_t)call->type;
    state->last.op = (uint8_t)call->op;
    uint16_t *prepared = &state->prepared[call->type][call->op];
    const uint32_t missing = kernels_for(team, call) & ~(uint32_t)*prepared;
    if (missing)
        team->device->launch.prepare(team->gpu, missing, call->type, call->op);
    *prepared |= (uint16_t)missing;
}

static int reduction_alone(struct tutti_team *team, const struct tutti_call *call, enum tutti_reduce_outcome *taken,
                           const char **why)
{
    if (call->kind == TUTTI_ARRIVAL_HOST && call->host_ok)
        return reduction_pass(taken, why, TUTTI_REASON_TEXT(HOST_MEMORY));
    *taken = TUTTI_REDUCE_DONE;
    *why = "copy";
    size_t count = tutti_result_of(call, 0, 1).count;
    if (call->in == call->out || count == 0)
        return TUTTI_OK;
    return tutti_move(team, call->out, call->in, count * tutti_type_size(call->type));
}

/* Team open. Returns the first choice. */
static const struct tutti_algorithm *choice_prepare(struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_algorithm *row = first_choice(team, call);
    if (row->prepare)
        row->prepare(team, 0);
    return row;
}

/* Between the last agreement and the launch nothing may wait for other threads' kernels. */
static int open_for(struct tutti_team *team, const struct tutti_call *call, int gpu)
{
    uint32_t all;
    int status = tutti_open(team, gpu);
    if (status != TUTTI_OK || team->state != TUTTI_TEAM_OPEN)
        return status;
    tutti_prepare(team, call);
    tutti_flow_prepare(team, call);
    (void)choice_prepare(team, call);
    return tutti_team_vote(team, 1, &all);
}

void tutti_open_again(struct tutti_team *team)
{
    enum { FIRST = 16, MOST = 1 << 20 };
    struct tutti_coll_state *state = tutti_coll_of(team);
    if (team->state != TUTTI_TEAM_UNAVAILABLE || ++state->refused < state->backoff)
        return;
    if (state->backoff == 0) {
        state->backoff = FIRST;
        return;
    }
    state->refused = 0;
    state->backoff = state->backoff < MOST ? state->backoff * 2 : MOST;
    team->state = TUTTI_TEAM_CLOSED;
}

/* What this rank brings to a call, which may be one of the first calls (opening.h), or one that peers are expected to
 * leave to the MPI. *why: of a call that it leaves at once. */
static enum tutti_arrival_kind reduction_kind(struct tutti_team *team, const struct tutti_call *call,
                                              enum tutti_reason *why)
{
    const int ordered = tutti_opening_keeps_order(team, call);
    const size_t bytes = call->count * tutti_type_size(call->type);
    if (call->kind == TUTTI_ARRIVAL_DEVICE && !ordered && tutti_declined_begins(team, call->collective, bytes)) {
        *why = TUTTI_REASON_HOST_BEFORE;
        return TUTTI_ARRIVAL_FIRST;
    }
    *why = TUTTI_REASON_FIRST_CALLS;
    if (call->kind == TUTTI_ARRIVAL_DEVICE && !(ordered && team->is_nonblocking) &&
        tutti_opening_waits(team, call, call->type, call->op))
        return ordered ? TUTTI_ARRIVAL_LATER : TUTTI_ARRIVAL_FIRST;
    return tutti_reopen_kind(team, call);
}

int tutti_reduce_leaves(const struct tutti_team *team, const struct tutti_call *call)
{
    return call->kind == TUTTI_ARRIVAL_DEVICE && !tutti_opening_keeps_order(team, call) &&
           !tutti_coll_of(team)->settle &&
           tutti_declined_is_next(team, call->collective, call->count * tutti_type_size(call->type));
}

static void reduction_note(struct tutti_team *team, const struct tutti_call *call,
                           const struct tutti_arrival *const all[])
{
    int left = 0, host = 0, first = 0;
    for (int r = 0; r < team->size; r++) {
        left += tutti_arrival_leaves(all[r]->kind);
        host += all[r]->kind == TUTTI_ARRIVAL_HOST;
        first += all[r]->kind == TUTTI_ARRIVAL_FIRST && all[r]->blocks == TUTTI_REASON_HOST_BEFORE;
    }
    tutti_declined_note(team, call->collective, call->count * tutti_type_size(call->type), left, host, first);
}

static int some_are_later(const struct tutti_team *team, const struct tutti_arrival *const all[])
{
    int later = 0;
    for (int r = 0; r < team->size; r++)
        later |= all[r]->kind == TUTTI_ARRIVAL_LATER;
    return later;
}

/* A call on a team that was given up before. On a communicator with a stream it fails nevertheless after the MPI's
 * call, as its calls in stream order do: what the stream has left in device memory cannot be relied on. */
static int reduction_given_up(struct tutti_team *team, const struct tutti_call *call, enum tutti_reduce_outcome *taken,
                              const char **why)
{
    if (!tutti_call_leave(team))
        return TUTTI_ERR_BROKEN;
    if (tutti_coll_of(team)->settle && call->kind == TUTTI_ARRIVAL_DEVICE)
        tutti_coll_of(team)->owed = TUTTI_ERR_BROKEN;
    return reduction_by_mpi(team, call, taken, why, TUTTI_REASON_TEXT(COMM));
}

static int reduction_collective(struct tutti_team *team, const struct tutti_call *call,
                                enum tutti_reduce_outcome *taken, const char **why)
{
    if (team->state == TUTTI_TEAM_BROKEN)
        return reduction_given_up(team, call, taken, why);
    if (tutti_team_has_report(team))
        return tutti_team_take_report(team);
    if (call->kind == TUTTI_ARRIVAL_DEVICE) {
        int leaves;
        const int settled = tutti_call_settle(team, &leaves);
        if (settled != TUTTI_OK)
            return settled;
        if (leaves)
            return reduction_by_mpi(team, call, taken, why, TUTTI_REASON_TEXT(COMM));
    }
    if (team->size == 1)
        return reduction_alone(team, call, taken, why);
    if (!team->whole)
        return reduction_by_mpi(team, call, taken, why, team->why);

    enum tutti_reason left;
    const enum tutti_arrival_kind kind = reduction_kind(team, call, &left);
    struct tutti_arrival mine = {
        .collective = (uint32_t)call->collective,
        .type = call->type,
        .op = call->op,
        .kind = kind,
        .count = call->count,
        .detail = tutti_detail(call->collective, call->root, call->counts, team->size),
    };
    if (mine.kind == TUTTI_ARRIVAL_DEVICE) {
        tutti_prepare(team, call);
        tutti_flow_prepare(team, call);
    }
    tutti_coll_of(team)->offered = 0;
    if (mine.kind == TUTTI_ARRIVAL_DEVICE && team->state == TUTTI_TEAM_OPEN && choice_prepare(team, call)->maps_buffers)
        tutti_offer_buffers(team, call);
    tutti_reservation_arrive(team, call, &mine);
    if (mine.kind == TUTTI_ARRIVAL_FIRST)
        mine.blocks = (uint32_t)left;
    tutti_team_arrive(team, &mine);
    if (mine.kind == TUTTI_ARRIVAL_FIRST)
        return reduction_pass(taken, why, tutti_reasons[left].text);
    if (mine.kind == TUTTI_ARRIVAL_HOST && call->host_ok)
        return reduction_pass(taken, why, TUTTI_REASON_TEXT(HOST_MEMORY));

    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    int status = tutti_team_await(team, all);
    if (tutti_call_is_left(team, status) && !tutti_team_is_lost(team))
        return reduction_by_mpi(team, call, taken, why, TUTTI_REASON_TEXT(COMM));
    if (status != TUTTI_OK)
        return status;
    tutti_coll_of(team)->lines_come = tutti_team_lines_come(team, all);
    reduction_note(team, call, all);
    int again, gpu = call->gpu;
    uint64_t resets;
    const char *reason = tutti_reopen_look(team, all, &again, &resets);
    if (reason)
        return reduction_by_mpi(team, call, taken, why, reason);
    if (some_are_later(team, all)) {
        status = call_reduction_staged(team, call, taken, why);
        *why = TUTTI_REASON_TEXT(FIRST_CALLS);
        return status;
    }
    tutti_open_again(team);
    tutti_reservation_agree(team, all);
    if (again) {
        gpu = gpu < 0 ? team->gpu : gpu;
        if ((status = tutti_reopen_close(team, resets)) != TUTTI_OK)
            return tutti_team_break(team, status);
    }
    tutti_phase(team->state == TUTTI_TEAM_CLOSED ? TUTTI_PHASE_MAPPING : TUTTI_PHASE_LAUNCH);
    if (team->state == TUTTI_TEAM_CLOSED && (status = open_for(team, call, gpu)) != TUTTI_OK)
        return tutti_team_break(team, status);
    if (team->state != TUTTI_TEAM_OPEN)
        return reduction_by_mpi(team, call, taken, why, team->why);
    *taken = TUTTI_REDUCE_DONE;
    status = run_by_rule(team, call, taken, why);
    if (status == TUTTI_OK)
        tutti_team_unmap(team);
    return status;
}

/* After the call at which all ranks know it, so that all choose this call's row from the same facts, and the next one's
 * kernels are prepared before its arrival. */
static void reduction_take_lines(struct tutti_team *team)
{
    tutti_coll_of(team)->lines_come = 0;
    tutti_coll_of(team)->last.count = UINT64_MAX;
    tutti_team_lines_take(team);
}

int tutti_reduce_run(struct tutti_team *team, const struct tutti_call *call, enum tutti_reduce_outcome *taken,
                     const char **why)
{
    static const char *const names[TUTTI_COLLECTIVES] = {
#define TUTTI_COLLECTIVE(id, name) name,
#include "tutti/collectives.def"
#undef TUTTI_COLLECTIVE
    };
    const int in_fiber = tutti_fiber_here() != NULL; /* it may end on another thread */
    if (!in_fiber)
        tutti_phase_begin(names[call->collective]);
    int status = reduction_collective(team, call, taken, why);
    tutti_reservation_end(team);
    if (tutti_coll_of(team)->lines_come)
        reduction_take_lines(team);
    if (!in_fiber)
        tutti_phase_end();
    return status;
}
