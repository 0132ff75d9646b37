/* copies: as fetch, but the copy engines of the receivers' GPUs move the data, one run of bytes after the other. No
 * multiprocessor is taken once the ranks have mapped each other's memory. */
#include "coll/move/moves.h"

static int copies_has_runs(const struct tutti_move_block *blocks, int n)
{
    for (int i = 0; i < n; i++) {
        if (blocks[i].bytes > 0 && !blocks[i].elements.whole)
            return TUTTI_NO(TYPE);
    }
    return 1;
}

static int move_copies_can(const struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_move *move = call->move;
    return copies_has_runs(move->send, move->sends) && copies_has_runs(move->receive, move->receives) &&
           tutti_move_fetch.can(team, call);
}

static int move_copies_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    call->move->engines = 1;
    const int status = tutti_move_fetch.run(team, call, fits);
    call->move->engines = 0;
    return status;
}

const struct tutti_algorithm tutti_move_copies = {
    .name = "copies",
    .collectives = TUTTI_ON_MOVES,
    .spares = 1,
    .posts = 1,
    .can = move_copies_can,
    .run = move_copies_run,
    .how = "copied by the copy engines",
};
