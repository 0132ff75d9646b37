/* Moves in stream order: the same rules, for algorithms whose kernels need the host only for the launch. Ranks
 * exchange nothing here, so a row is chosen by shared facts: by the length of the blocks if all ranks know it,
 * otherwise the row that takes any length. */
#include "coll/call/row.h"
#include "coll/move/runs.h"
#include "coll/state.h"
#include "core/status.h"

static int move_can(const struct tutti_algorithm *row, const struct tutti_team *team, const struct tutti_call *call)
{
    return tutti_row_enqueues(row) && tutti_row_can(row, team, call);
}

static const struct tutti_algorithm *move_choose(const struct tutti_team *team, const struct tutti_call *call)
{
    const uint64_t longest = tutti_runs_longest(team, call->flow);
    const int known = (int)(TUTTI_RUNS_KNOWN >> call->collective & 1);
    int from = tutti_rules_begin(tutti_coll_of(team)->rules), choice;
    for (int i = 0; i < TUTTI_MOVES && known && call->spare; i++) {
        if (tutti_moves[i]->spares && move_can(tutti_moves[i], team, call))
            return tutti_moves[i];
    }
    while (known && (choice = tutti_moves_next(call->collective, longest, team->size, &from)) >= 0) {
        if (move_can(tutti_moves[choice], team, call))
            return tutti_moves[choice];
    }
    for (int i = 0; i < TUTTI_MOVES; i++) {
        if (tutti_moves[i]->any_length && move_can(tutti_moves[i], team, call))
            return tutti_moves[i];
    }
    return NULL;
}

int tutti_move_enqueue(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                       const char **why)
{
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    if (team->state != TUTTI_TEAM_OPEN)
        return TUTTI_ERR_UNAVAILABLE;
    const int fault = tutti_team_fault(team);
    if (fault != TUTTI_OK)
        return fault;
    const struct tutti_algorithm *row = move_choose(team, call);
    if (!row)
        return TUTTI_ERR_UNAVAILABLE;
    int status = tutti_runs_prepare(team);
    if (status == TUTTI_OK)
        status = tutti_row_enqueue(row, team, call, stream);
    if (status == TUTTI_OK)
        *why = row->name;
    return status;
}
