/* Which blocks go where in a collective that moves data: its row of collectives.def, whose words these are. */
#ifndef TUTTI_COLL_MOVER_ROW_H
#define TUTTI_COLL_MOVER_ROW_H

#include "team/control.h"

enum tutti_peers { TUTTI_PEERS_ROOT, TUTTI_PEERS_ALL, TUTTI_PEERS_NEIGHBOURS };
enum tutti_holds {
    TUTTI_HOLDS_SHARED,
    TUTTI_HOLDS_BLOCK,
    TUTTI_HOLDS_BLOCKS,
    TUTTI_HOLDS_BLOCKS_V, /* from here on: lists of counts and displacements */
    TUTTI_HOLDS_BLOCKS_W,
    TUTTI_HOLDS_BLOCKS_W_AINT,
};
enum tutti_in_place_side { TUTTI_IN_PLACE_NEITHER, TUTTI_IN_PLACE_SEND, TUTTI_IN_PLACE_RECEIVE };

struct tutti_mover_row {
    enum tutti_peers from, to;
    enum tutti_holds send, receive;
    enum tutti_in_place_side in_place;
};

/* All zeros for a collective that is no data mover. */
const struct tutti_mover_row *tutti_mover_row(enum tutti_collective collective);

/* 1: each rank receives a block from each rank, and all blocks have one length, which all ranks know. */
static inline int tutti_mover_is_even(enum tutti_collective collective)
{
    const struct tutti_mover_row *row = tutti_mover_row(collective);
    return row->from == TUTTI_PEERS_ALL && row->to == TUTTI_PEERS_ALL && row->receive == TUTTI_HOLDS_BLOCKS;
}
/* 1: all receivers get the same block. */
static inline int tutti_mover_sends_one(enum tutti_collective collective)
{
    return tutti_mover_row(collective)->send == TUTTI_HOLDS_BLOCK;
}

#endif
