/* tree: a broadcast. One rank of each node gets the message in a binomial tree: as few latencies as the number of nodes
 * has bits. For few bytes. */
#include "coll/carry/bcast.h"

/* A node sends to those that differ from it in one bit above its highest one, the farthest first. */
static int tree_path(int me, int nodes, int *from, int *to)
{
    int bit = 1, tos = 0;
    while (bit <= me)
        bit *= 2;
    *from = me > 0 ? me - bit / 2 : -1;
    int most = bit;
    while (me + most < nodes)
        most *= 2;
    for (most /= 2; most >= bit; most /= 2) {
        if (me + most < nodes)
            to[tos++] = me + most;
    }
    return tos;
}

static int tree_run(struct tutti_carry_call *c)
{
    return tutti_carry_bcast(c, 1, tree_path);
}

const struct tutti_carry_row tutti_carry_tree = {
    .name = "tree",
    .collectives = TUTTI_ON(BCAST),
    .run = tree_run,
};
