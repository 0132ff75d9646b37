/* chains: a broadcast in slices, one for each rank of a node. Each slice goes from node to node in a chain, piece after
 * piece, so that each link carries each byte once, and all ranks, with all their network ports, work at a time. */
#include "coll/carry/bcast.h"

static int chain_path(int me, int nodes, int *from, int *to)
{
    *from = me - 1;
    to[0] = me + 1;
    return me + 1 < nodes;
}

static int chains_run(struct tutti_carry_call *c)
{
    return tutti_carry_bcast(c, c->h->least, chain_path);
}

const struct tutti_carry_row tutti_carry_chains = {
    .name = "chains",
    .collectives = TUTTI_ON(BCAST),
    .run = chains_run,
};
