/* pairs: blocks between nodes go from rank to rank, while blocks within the node go by its movers. For large blocks:
 * all ranks, and all their network ports, work at a time, and each byte crosses the network once. */
#include "coll/carry/wire.h"
#include "core/status.h"

/* The blocks of ranks on other nodes, each rank beginning with the one behind it. */
static void pairs_add_blocks(struct tutti_carry_call *c, struct tutti_carry_wire *wire)
{
    const struct tutti_hierarchy *h = c->h;
    for (int k = 1; k < c->ranks; k++) {
        const int to = (c->rank + k) % c->ranks, from = (c->rank - k + c->ranks) % c->ranks;
        if (c->to[to] && h->node_of[to] != h->node)
            tutti_carry_wire_send(wire, &c->to[to]->elements, 0, c->to[to]->bytes, &c->to[to]->rank, 1, k);
        if (c->from[from] && h->node_of[from] != h->node)
            tutti_carry_wire_receive(wire, &c->from[from]->elements, 0, c->from[from]->bytes, from, NULL, 0, k);
    }
}

static int pairs_run(struct tutti_carry_call *c)
{
    struct tutti_carry_wire wire;
    int status = tutti_carry_wire_open(&wire, c, c->h->ranks, 0, c->move->sends, c->move->receives);
    if (status == TUTTI_OK) {
        pairs_add_blocks(c, &wire);
        status = tutti_carry_wire_start(&wire);
    }
    if (status == TUTTI_OK)
        status = tutti_carry_meet_own(c);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_wait(&wire);
    tutti_carry_wire_close(&wire, status);
    return status;
}

const struct tutti_carry_row tutti_carry_pairs = {
    .name = "pairs",
    .collectives = TUTTI_ON(GATHER) | TUTTI_ON(GATHERV) | TUTTI_ON(SCATTER) | TUTTI_ON(SCATTERV) | TUTTI_ON(ALLTOALL) |
                   TUTTI_ON(ALLTOALLV) | TUTTI_ON(ALLTOALLW),
    .run = pairs_run,
};
