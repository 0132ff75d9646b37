/* What builders of reductions share. */
#ifndef TUTTI_PART_COLL_REDUCE_H
#define TUTTI_PART_COLL_REDUCE_H

#include "part/coll/own.h"

#define TUTTI_PCOLL_KIND(kind) (1u << TUTTI_PCOLL_##kind)

/* The own contribution of a reduction with one block. */
static inline const struct tutti_pcoll_block *tutti_pcoll_contribution(const struct tutti_pcoll *p)
{
    return p->args.in_place ? p->args.recv.block : p->args.send.block;
}

/* The step in which `terms` terms are combined into `out`: at[r] holds rank r's, for ranks r of `included` (1: yes).
 * Elements of `block`'s plan. by_nodes: in the order of nodes. */
void tutti_pcoll_fold_ranks(struct tutti_pcoll *p, struct tutti_pcoll_step *step, const struct tutti_pcoll_at at[],
                            const unsigned char included[], int by_nodes, struct tutti_pcoll_at out,
                            const struct tutti_pcoll_block *block, int64_t count);

#endif
