#include "mpi/move/sides.h"

/* The MPI gets an unused buffer as the program gave it. */
static struct tutti_side side_of(const struct tutti_pattern_side *pattern, const struct tutti_buffer *buffer, int way)
{
    struct tutti_side side = {.given = *buffer, .only = -1};
    if (!pattern->used)
        return side;
    side.n = pattern->n;
    side.way = way;
    return side;
}

/* Consecutive blocks become one block. */
static void side_join(struct tutti_side *side)
{
    if (side->given.counts || side->n == 0)
        return;
    if (side->given.count > 0)
        side->given.count *= side->n;
    side->n = 1;
}

/* 1 if no neighbour is MPI_PROC_NULL. */
static int side_has_all(const struct tutti_neighbours *neighbours)
{
    for (int i = 0; i < neighbours->ins; i++) {
        if (neighbours->from[i] == MPI_PROC_NULL)
            return 0;
    }
    return 1;
}

void tutti_sides_of(struct tutti_sides *sides, const struct tutti_pattern *pattern,
                    const struct tutti_collective_args *call)
{
    const int exchanged = pattern->in_place == TUTTI_ALL_BLOCKS_SENT;
    sides->in = side_of(&pattern->send, &call->in, TUTTI_STAGE_IN);
    sides->out = side_of(&pattern->recv, &call->out, exchanged ? TUTTI_STAGE_IN | TUTTI_STAGE_OUT : TUTTI_STAGE_OUT);
    side_join(&sides->in);
    if (pattern->in_place == TUTTI_OWN_BLOCK_SENT)
        sides->out.only = pattern->rank;
    else if (pattern->recv.peers == TUTTI_PEERS_NEIGHBOURS && (call->out.counts || !side_has_all(&pattern->neighbours)))
        sides->out.peers = pattern->neighbours.from;
    else
        side_join(&sides->out);
    if (call->collective == TUTTI_COLLECTIVE_ALLGATHER)
        sides->in.as_bytes = sides->out.as_bytes = tutti_quirks.allgather_init_drops_types;
}
