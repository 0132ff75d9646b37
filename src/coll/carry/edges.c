/* edges: a call with neighbours. Blocks between nodes go from rank to rank, those of several edges between two ranks in
 * the same messages; blocks within the node go by its movers meanwhile. A block that goes to several ranks is copied
 * once, and a rank gets it as often as it has edges from there. */
#include <stdlib.h>

#include "coll/carry/wire.h"
#include "coll/mover_row.h"
#include "core/status.h"

struct edges {
    struct tutti_carry_call *c;
    struct tutti_move_block *out, *in; /* between nodes */
    int outs, ins;
    int *to;                      /* [outs] */
    struct tutti_carry_meet meet; /* within the node */
};

typedef void edges_meet(struct tutti_carry_meet *meet, int peer, const struct tutti_elements *elements, uint64_t bytes);

/* Blocks of peers on this node go to `meet`, the others to `away`. Returns how many the latter are. The node's movers
 * know its ranks by other numbers. */
static int edges_part(struct edges *e, const struct tutti_move_block *blocks, int n, edges_meet *meet,
                      struct tutti_move_block *away)
{
    const struct tutti_carry_call *c = e->c;
    int others = 0;
    for (int i = 0; i < n; i++) {
        if (c->h->node_of[blocks[i].rank] == c->h->node)
            meet(&e->meet, c->kept->local[blocks[i].rank], &blocks[i].elements, blocks[i].bytes);
        else if (blocks[i].bytes > 0)
            away[others++] = blocks[i];
    }
    return others;
}

static int edges_divide(struct edges *e)
{
    const struct tutti_move *move = e->c->move;
    e->out = malloc(((size_t)move->sends + (size_t)move->receives + 1) * sizeof *e->out);
    e->to = malloc(((size_t)move->sends + 1) * sizeof *e->to);
    if (!e->out || !e->to || !tutti_carry_meet_open(&e->meet, e->c->call->collective, move->sends, move->receives))
        return TUTTI_ERR_MEMORY;
    e->in = e->out + move->sends;
    e->outs = edges_part(e, move->send, move->sends, tutti_carry_meet_send, e->out);
    e->ins = edges_part(e, move->receive, move->receives, tutti_carry_meet_receive, e->in);
    return TUTTI_OK;
}

/* All sent blocks are one, so it does not matter which of two edges between two ranks it meets. */
static void edges_add_same(struct edges *e, struct tutti_carry_wire *wire)
{
    for (int i = 0; i < e->outs; i++)
        e->to[i] = e->out[i].rank;
    if (e->outs > 0)
        tutti_carry_wire_send(wire, &e->out[0].elements, 0, e->out[0].bytes, e->to, e->outs, 0);
    for (int i = 0; i < e->ins; i++)
        tutti_carry_wire_receive(wire, &e->in[i].elements, 0, e->in[i].bytes, e->in[i].rank, NULL, 0,
                                 (e->c->rank - e->in[i].rank + e->c->ranks) % e->c->ranks);
}

static int edges_add(struct edges *e, struct tutti_carry_wire *wire)
{
    if (tutti_mover_sends_one(e->c->call->collective)) {
        edges_add_same(e, wire);
        return TUTTI_OK;
    }
    const int status = tutti_carry_wire_blocks(wire, TUTTI_CARRY_OUT, e->out, e->outs, e->c->rank, e->c->ranks);
    return status != TUTTI_OK ? status
                              : tutti_carry_wire_blocks(wire, TUTTI_CARRY_IN, e->in, e->ins, e->c->rank, e->c->ranks);
}

static int edges_run(struct tutti_carry_call *c)
{
    struct edges e = {.c = c};
    struct tutti_carry_wire wire;
    int status = tutti_carry_wire_open(&wire, c, c->h->ranks, 0, c->move->sends, c->move->receives);
    if (status == TUTTI_OK)
        status = edges_divide(&e);
    if (status == TUTTI_OK)
        status = edges_add(&e, &wire);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_start(&wire);
    if (status == TUTTI_OK)
        status = tutti_carry_meet(c, &e.meet);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_wait(&wire);
    tutti_carry_meet_close(&e.meet);
    tutti_carry_wire_close(&wire, status);
    free(e.out);
    free(e.to);
    return status;
}

const struct tutti_carry_row tutti_carry_edges = {
    .name = "edges",
    .collectives = TUTTI_ON(NEIGHBOR_ALLGATHER) | TUTTI_ON(NEIGHBOR_ALLGATHERV) | TUTTI_ON(NEIGHBOR_ALLTOALL) |
                   TUTTI_ON(NEIGHBOR_ALLTOALLV) | TUTTI_ON(NEIGHBOR_ALLTOALLW),
    .run = edges_run,
};
