/* A collective that moves data, over a team: announce, see what the others can, run the first algorithm that all can.
 */
#include "coll/move/moves.h"

#include "core/status.h"

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

uint32_t tutti_move_able(const struct tutti_team *team, const struct tutti_call *call)
{
    uint32_t able = 0, permitted;
    _Static_assert(TUTTI_MOVES < 32, "an arrival has room for so many");
    if (!call->move)
        return 0;
    permitted = tutti_moves_permitted(call->collective, move_largest(call->move));
    if (!permitted)
        return (uint32_t)TUTTI_NO(RULES);
    for (int i = 0; i < TUTTI_MOVES; i++) {
        if (permitted >> i & 1)
            able |= (uint32_t)tutti_algorithm_can(tutti_moves[i], team, call) << i;
    }
    return able;
}

/* What this rank announces: the rows, or why there are none. */
static struct tutti_arrival move_arrival(const struct tutti_call *call, uint32_t able)
{
    return (struct tutti_arrival){.collective = (uint32_t)call->collective,
                                  .kind = able ? TUTTI_ARRIVAL_DEVICE : TUTTI_ARRIVAL_HOST,
                                  .blocks = able ? able : (uint32_t)tutti_why_take(TUTTI_REASON_OTHER),
                                  .detail = (uint64_t)(unsigned)call->root};
}

void tutti_move_decline(struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_arrival mine = move_arrival(call, 0);
    tutti_team_arrive(team, &mine);
    tutti_why_set((enum tutti_reason)mine.blocks);
}

/* *able: rows that all ranks can run, from this rank's own. Where none is left, the reason is set. */
static int move_agree(struct tutti_team *team, const struct tutti_call *call, uint32_t *able)
{
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    if (!*able) {
        tutti_move_decline(team, call);
        return TUTTI_OK;
    }
    const struct tutti_arrival mine = move_arrival(call, *able);
    tutti_team_arrive(team, &mine);
    const int status = tutti_team_await(team, all);
    for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
        if (all[r]->kind == TUTTI_ARRIVAL_DEVICE) {
            *able &= all[r]->blocks;
            continue;
        }
        *able = 0;
        tutti_why_set(all[r]->blocks > 0 && all[r]->blocks < TUTTI_REASONS ? (enum tutti_reason)all[r]->blocks
                                                                           : TUTTI_REASON_HOST_SOME);
    }
    return status;
}

int tutti_move_agree(struct tutti_team *team, const struct tutti_call *call, uint32_t *able)
{
    *able = tutti_move_able(team, call);
    return move_agree(team, call, able);
}

int tutti_move_run_rows(struct tutti_team *team, const struct tutti_call *call, uint32_t able, const char **how)
{
    int status = able ? tutti_coll_settle(team) : TUTTI_OK;
    *how = NULL;
    if (status == TUTTI_OK)
        status = move_agree(team, call, &able);
    for (int i = 0; i < TUTTI_MOVES && status == TUTTI_OK && !*how; i++) {
        int fits = 0;
        if (able >> i & 1)
            status = tutti_moves[i]->run(team, call, &fits);
        *how = fits ? tutti_moves[i]->how : NULL;
    }
    return status;
}

int tutti_move_run(struct tutti_team *team, const struct tutti_call *call, const char **how)
{
    return tutti_move_run_rows(team, call, tutti_move_able(team, call), how);
}
