#include "mpi/move/mover_blocks.h"

#include <stdlib.h>

#include "mpi/comm/neighbour_order.h"
#include "mpi/move/pattern.h"

/* ---- neighbours ---- */

static int mover_blocks_repeat(const int *ranks, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; ranks[i] >= 0 && j < i; j++) {
            if (ranks[i] == ranks[j])
                return 1;
        }
    }
    return 0;
}

/* *order: matching order of several blocks from one rank, if there are any. 0 if the MPI must make the call. */
static int mover_blocks_order(const struct tutti_neighbours *all, enum tutti_collective collective, int nonblocking,
                              enum tutti_neighbour_order *order)
{
    if (all->kind == MPI_UNDEFINED)
        return 0;
    const int twice = mover_blocks_repeat(all->from, all->ins) || mover_blocks_repeat(all->to, all->outs);
    if (all->kind == MPI_GRAPH && twice)
        return 0;
    const int known = tutti_neighbour_order(nonblocking, all->kind == MPI_CART, collective);
    *order = twice && known >= 0 ? (enum tutti_neighbour_order)known : TUTTI_NEIGHBOURS_AS_SENT;
    return known >= 0 || !twice;
}

/* ---- blocks ---- */

/* Block i of a buffer. *extent: of the buffer's type; 0: the MPI is asked. 0 if the arguments are wrong. */
static int mover_block_of(const struct tutti_buffer *buffer, int i, MPI_Count *extent, struct tutti_mover_block *out)
{
    MPI_Count lower;
    out->type = tutti_buffer_type(buffer, i);
    out->layout = NULL;
    out->count = tutti_buffer_count(buffer, i);
    if (out->count < 0 || (out->count > 0 && out->type == tutti_handles.no_type))
        return 0;
    if (out->count > 0 && buffer->buffer == MPI_IN_PLACE) /* where it must not be */
        return 0;
    if (out->count > 0 && !buffer->types && *extent == 0 &&
        tutti_next.MPI_Type_get_extent_x(out->type, &lower, extent) != MPI_SUCCESS)
        return 0;
    out->at = tutti_buffer_block(buffer, i, buffer->types || out->count == 0 ? 1 : *extent);
    return 1;
}

/* The n neighbours of one side of this rank; repeated ones are taken in `order`. */
struct side {
    const int *ranks;
    int n;
    enum tutti_neighbour_order order;
};

/* A block for each peer; none for this rank if its own block stays. Returns their number, or -1. */
static int mover_blocks_fill(const struct tutti_pattern *pattern, const struct tutti_pattern_side *with, int root,
                             const struct tutti_buffer *buffer, const struct side *side, struct tutti_mover_block *out)
{
    const enum tutti_peers peers = with->peers;
    const int stays = pattern->in_place != TUTTI_NOT_IN_PLACE || pattern->shared;
    MPI_Count extent = 0;
    int used = 0;
    const int n = !with->used ? 0 : peers == TUTTI_PEERS_ROOT ? 1 : peers == TUTTI_PEERS_ALL ? pattern->ranks : side->n;
    for (int next = 0; next < n; next++) {
        struct tutti_mover_block *block = &out[used];
        const int i = peers == TUTTI_PEERS_NEIGHBOURS ? tutti_neighbour_sent(side->order, next, n) : next;
        const int rank = peers == TUTTI_PEERS_ROOT ? root : peers == TUTTI_PEERS_ALL ? i : side->ranks[i];
        if ((stays && rank == pattern->rank) || rank == MPI_PROC_NULL)
            continue;
        if (!mover_block_of(buffer, with->each ? i : 0, &extent, block))
            return -1;
        block->rank = rank;
        used++;
    }
    return used;
}

/* In place, an allgather sends this rank's part of the receive buffer. 0 if the arguments are wrong. */
static int mover_blocks_own_part(const struct tutti_pattern *pattern, const struct tutti_buffer *buffer,
                                 struct tutti_buffer *out)
{
    struct tutti_mover_block part;
    MPI_Count extent = 0;
    if (pattern->in_place != TUTTI_OWN_BLOCK_SENT || pattern->rooted)
        return 1;
    if (!mover_block_of(buffer, pattern->rank, &extent, &part))
        return 0;
    *out = tutti_buffer_of(part.at, part.count, part.type);
    return 1;
}

static int mover_blocks_fill_both(struct tutti_mover_blocks *blocks, const struct tutti_collective_args *call,
                                  int nonblocking, const struct tutti_pattern *pattern)
{
    const struct tutti_neighbours *all = &pattern->neighbours;
    enum tutti_neighbour_order order = TUTTI_NEIGHBOURS_AS_SENT;
    struct tutti_buffer in = call->in;
    if (pattern->rooted && (call->root < 0 || call->root >= pattern->ranks))
        return 0;
    blocks->aside = pattern->in_place == TUTTI_ALL_BLOCKS_SENT;
    in = blocks->aside ? call->out : in;
    if (!mover_blocks_own_part(pattern, &call->out, &in))
        return 0;
    if (pattern->send.peers == TUTTI_PEERS_NEIGHBOURS &&
        !mover_blocks_order(all, call->collective, nonblocking, &order))
        return 0;
    const size_t most = (size_t)pattern->ranks + (size_t)(all->ins > all->outs ? all->ins : all->outs);
    if (2 * most > TUTTI_MOVER_BLOCKS_FEW && !(blocks->own = malloc(2 * most * sizeof *blocks->in)))
        return 0;
    blocks->in = blocks->own ? blocks->own : blocks->few;
    blocks->out = blocks->in + most;
    const struct side to = {all->to, all->outs, TUTTI_NEIGHBOURS_AS_SENT}, from = {all->from, all->ins, order};
    blocks->ins = mover_blocks_fill(pattern, &pattern->send, call->root, &in, &to, blocks->in);
    blocks->outs = mover_blocks_fill(pattern, &pattern->recv, call->root, &call->out, &from, blocks->out);
    return blocks->ins >= 0 && blocks->outs >= 0;
}

int tutti_mover_blocks_open(struct tutti_mover_blocks *blocks, const struct tutti_collective_args *call,
                            int nonblocking, int rank, int ranks)
{
    TUTTI_INSIDE();
    struct tutti_pattern pattern;
    tutti_mover_blocks_none(blocks);
    const int fine = tutti_pattern_open_as(&pattern, call, rank, ranks) == TUTTI_OK &&
                     mover_blocks_fill_both(blocks, call, nonblocking, &pattern);
    tutti_pattern_close(&pattern);
    if (!fine)
        tutti_mover_blocks_close(blocks);
    return fine;
}

void tutti_mover_blocks_close(struct tutti_mover_blocks *blocks)
{
    free(blocks->own);
    tutti_mover_blocks_none(blocks);
}
