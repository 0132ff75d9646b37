#include "mpi/move/pattern.h"

int tutti_pattern_has_neighbours(enum tutti_collective collective)
{
    return tutti_mover_row(collective)->to == TUTTI_PEERS_NEIGHBOURS;
}

int tutti_pattern_has_lists(enum tutti_collective collective)
{
    return tutti_mover_row(collective)->send >= TUTTI_HOLDS_BLOCKS_V ||
           tutti_mover_row(collective)->receive >= TUTTI_HOLDS_BLOCKS_V;
}

int tutti_pattern_is_contiguous(enum tutti_collective collective)
{
    const struct tutti_mover_row *row = tutti_mover_row(collective);
    const int all = row->from == TUTTI_PEERS_ALL && row->to == TUTTI_PEERS_ALL;
    return row->send == TUTTI_HOLDS_SHARED ||
           (all && row->send <= TUTTI_HOLDS_BLOCKS && row->receive <= TUTTI_HOLDS_BLOCKS);
}

int tutti_pattern_exchanges(enum tutti_collective collective)
{
    const struct tutti_mover_row *row = tutti_mover_row(collective);
    return row->in_place == TUTTI_IN_PLACE_SEND && row->send >= TUTTI_HOLDS_BLOCKS &&
           row->receive >= TUTTI_HOLDS_BLOCKS;
}

/* The place of this rank. */
static void pattern_ask(struct tutti_pattern *pattern, MPI_Comm comm, int root)
{
    if (comm == tutti_handles.no_comm || tutti_next.MPI_Comm_test_inter(comm, &pattern->inter) != MPI_SUCCESS)
        return;
    tutti_next.MPI_Comm_rank(comm, &pattern->rank);
    if (pattern->inter) {
        tutti_next.MPI_Comm_remote_size(comm, &pattern->ranks);
        pattern->root = root == MPI_ROOT ? 1 : root == MPI_PROC_NULL ? -1 : 0;
    } else {
        tutti_next.MPI_Comm_size(comm, &pattern->ranks);
        pattern->root = root == pattern->rank;
    }
}

/* The buffers that this rank uses. The root of another group has no block of its own, nor have the other ranks of
 * its group. */
static void pattern_use(struct tutti_pattern *pattern, const struct tutti_mover_row *row)
{
    const int has_block = pattern->root == 0 || (pattern->root == 1 && !pattern->inter);
    struct tutti_pattern_side *send = &pattern->send, *recv = &pattern->recv;
    send->used = recv->used = 1;
    if (row->from == TUTTI_PEERS_ROOT) {
        send->used = pattern->root == 1;
        recv->used = row->send == TUTTI_HOLDS_SHARED ? pattern->root == 0 : has_block;
    } else if (row->to == TUTTI_PEERS_ROOT) {
        send->used = has_block;
        recv->used = pattern->root == 1;
    }
}

static enum tutti_in_place pattern_in_place(const struct tutti_pattern *pattern, const struct tutti_mover_row *row,
                                            const struct tutti_collective_args *call)
{
    if (!pattern->send.used || !pattern->recv.used)
        return TUTTI_NOT_IN_PLACE;
    if (row->in_place == TUTTI_IN_PLACE_RECEIVE)
        return call->out.buffer == MPI_IN_PLACE ? TUTTI_OWN_BLOCK_KEPT : TUTTI_NOT_IN_PLACE;
    if (row->in_place == TUTTI_IN_PLACE_NEITHER || call->in.buffer != MPI_IN_PLACE)
        return TUTTI_NOT_IN_PLACE;
    return row->send == TUTTI_HOLDS_BLOCK ? TUTTI_OWN_BLOCK_SENT : TUTTI_ALL_BLOCKS_SENT;
}

/* The MPI reports a list of counts without displacements. */
static void pattern_count(struct tutti_pattern_side *side, const struct tutti_buffer *buffer, int neighbours, int ranks)
{
    const int peers = side->peers == TUTTI_PEERS_NEIGHBOURS ? neighbours : side->peers == TUTTI_PEERS_ALL ? ranks : 1;
    if (side->used && buffer->buffer != MPI_IN_PLACE && (!buffer->counts || buffer->displs))
        side->n = side->each ? peers : peers > 0;
}

/* The rest, once the place of this rank is known. */
static int pattern_fill(struct tutti_pattern *pattern, const struct tutti_collective_args *call)
{
    const struct tutti_mover_row *row = tutti_mover_row(call->collective);
    pattern->rooted = row->from == TUTTI_PEERS_ROOT || row->to == TUTTI_PEERS_ROOT;
    pattern->shared = row->send == TUTTI_HOLDS_SHARED;
    pattern->send = (struct tutti_pattern_side){.peers = row->to, .each = row->send >= TUTTI_HOLDS_BLOCKS};
    pattern->recv = (struct tutti_pattern_side){.peers = row->from, .each = row->receive >= TUTTI_HOLDS_BLOCKS};
    pattern_use(pattern, row);
    pattern->in_place = pattern_in_place(pattern, row, call);
    if (row->to == TUTTI_PEERS_NEIGHBOURS) {
        const int status = tutti_neighbours_open(&pattern->neighbours, call->comm);
        if (status != TUTTI_OK)
            return status;
    }
    pattern_count(&pattern->send, &call->in, pattern->neighbours.outs, pattern->ranks);
    pattern_count(&pattern->recv, &call->out, pattern->neighbours.ins, pattern->ranks);
    return TUTTI_OK;
}

int tutti_pattern_open(struct tutti_pattern *pattern, const struct tutti_collective_args *call)
{
    *pattern = (struct tutti_pattern){.rank = -1};
    if (!tutti_pattern_has_neighbours(call->collective))
        pattern_ask(pattern, call->comm, call->root);
    return pattern_fill(pattern, call);
}

int tutti_pattern_open_as(struct tutti_pattern *pattern, const struct tutti_collective_args *call, int rank, int ranks)
{
    *pattern = (struct tutti_pattern){.rank = rank, .ranks = ranks, .root = call->root == rank};
    return pattern_fill(pattern, call);
}

void tutti_pattern_close(struct tutti_pattern *pattern)
{
    tutti_neighbours_close(&pattern->neighbours);
}
