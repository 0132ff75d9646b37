#include "coll/mover_row.h"

static const struct tutti_mover_row mover_rows[TUTTI_COLLECTIVES] = {
#define TUTTI_MOVER(ID, call, nonblocking, from, to, send, receive, in_place, rules)                                   \
    [TUTTI_COLLECTIVE_##ID] = {TUTTI_PEERS_##from, TUTTI_PEERS_##to, TUTTI_HOLDS_##send, TUTTI_HOLDS_##receive,        \
                               TUTTI_IN_PLACE_##in_place},
#include "tutti/collectives.def"
};

const struct tutti_mover_row *tutti_mover_row(enum tutti_collective collective)
{
    return &mover_rows[collective];
}
