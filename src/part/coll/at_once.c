/* at_once: each contribution goes to every rank that combines it. One latency, for few bytes; any type and operator. */
#include <stdlib.h>

#include "part/coll/reduce.h"

void tutti_pcoll_fold_ranks(struct tutti_pcoll *p, struct tutti_pcoll_step *step, const struct tutti_pcoll_at at[],
                            const unsigned char included[], int by_nodes, struct tutti_pcoll_at out,
                            const struct tutti_pcoll_block *block, int64_t count)
{
    const int groups = by_nodes ? p->groups : 1;
    int terms = 0, group = 0;
    for (int r = 0; r < p->args.size; r++)
        terms += included[r];
    if (terms == 1) {
        int only = 0;
        while (!included[only])
            only++;
        tutti_pcoll_copy(p, step,
                         (struct tutti_pcoll_copy){.from = at[only],
                                                   .to = out,
                                                   .from_plan = block->plan,
                                                   .to_plan = block->plan,
                                                   .count = count,
                                                   .bytes = (uint64_t)count * block->plan->size});
        return;
    }
    struct tutti_pcoll_fold *fold = tutti_pcoll_fold(p, step, terms, groups, out, count);
    for (int i = 0, n = 0; fold && i < p->args.size; i++) {
        const int r = by_nodes ? p->order[i] : i;
        if (included[r])
            fold->term[n++] = at[r];
        if (by_nodes && i + 1 == p->group_end[group])
            fold->group_end[group++] = n;
    }
}

/* 1 if rank `to` combines the contribution of rank `from`. */
static int combines(const struct tutti_pcoll *p, int to, int from)
{
    switch (p->args.kind) {
    case TUTTI_PCOLL_REDUCE:
        return to == p->args.root;
    case TUTTI_PCOLL_SCAN:
        return from <= to;
    case TUTTI_PCOLL_EXSCAN:
        return from < to;
    default:
        return 1;
    }
}

static int is_segmented(const struct tutti_pcoll *p)
{
    return p->args.kind == TUTTI_PCOLL_REDUCE_SCATTER;
}

/* In place the result of a partition is written when all contributions are here: that of this rank may still be on its
 * way to others. So a copy of it is sent. The segments of a reduce-scatter are not overwritten before the round ends.
 */
static int own_copy(struct tutti_pcoll *p, struct tutti_pcoll_step *step, struct tutti_pcoll_at *packed)
{
    const struct tutti_pcoll_block *block = tutti_pcoll_contribution(p);
    const uint64_t bytes = (uint64_t)block->count * block->plan->size;
    if (!p->args.in_place || is_segmented(p) || p->args.kind == TUTTI_PCOLL_REDUCE)
        return 0;
    *packed = (struct tutti_pcoll_at){
        TUTTI_PCOLL_SCRATCH, tutti_pcoll_scratch(p, bytes * (uint64_t)p->args.recv.partitions), (int64_t)bytes};
    tutti_pcoll_copy(p, step,
                     (struct tutti_pcoll_copy){.from = tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, block),
                                               .to = *packed,
                                               .from_plan = block->plan,
                                               .count = block->count,
                                               .bytes = bytes});
    return 1;
}

static void at_once_send(struct tutti_pcoll *p)
{
    const struct tutti_pcoll_args *args = &p->args;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    struct tutti_pcoll_at packed;
    const int copied = own_copy(p, step, &packed);
    step->own = 1;
    for (int k = 1; k < args->size; k++) {
        const int to = (args->rank + k) % args->size;
        if (!combines(p, to, args->rank))
            continue;
        const struct tutti_pcoll_block *block = is_segmented(p) ? &args->send.block[to] : tutti_pcoll_contribution(p);
        tutti_pcoll_out(
            p, step,
            copied ? tutti_pcoll_edge_bytes(p, 1, to, 0, packed, (uint64_t)packed.stride, args->recv.partitions)
                   : tutti_pcoll_edge_block(p, 1, to, 0, tutti_pcoll_own(p), block, args->send.partitions));
    }
}

static void at_once_receive(struct tutti_pcoll *p, struct tutti_pcoll_at at[], unsigned char included[])
{
    const struct tutti_pcoll_args *args = &p->args;
    struct tutti_pcoll_block block = *args->recv.block;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    struct tutti_pcoll_at out = tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, &block);
    const int later = is_segmented(p) && args->in_place;
    for (int r = 0; r < args->size; r++) {
        included[r] = (unsigned char)combines(p, args->rank, r);
        if (!included[r] || r == args->rank)
            continue;
        at[r] = tutti_pcoll_slot(p, &block, args->recv.partitions);
        block.offset = at[r].offset;
        tutti_pcoll_in(p, step, tutti_pcoll_edge_block(p, 0, r, 0, TUTTI_PCOLL_SCRATCH, &block, args->recv.partitions));
    }
    at[args->rank] = tutti_pcoll_at(tutti_pcoll_own(p),
                                    is_segmented(p) ? &args->send.block[args->rank] : tutti_pcoll_contribution(p));
    if (later) { /* other segments may lie where the result goes */
        const struct tutti_pcoll_copy copy = {.to = out,
                                              .from = tutti_pcoll_slot(p, args->recv.block, args->recv.partitions),
                                              .from_plan = block.plan,
                                              .to_plan = block.plan,
                                              .count = block.count,
                                              .bytes = (uint64_t)block.count * block.plan->size};
        out = copy.from;
        tutti_pcoll_fold_ranks(p, step, at, included, 1, out, &block, block.count);
        tutti_pcoll_finish(p, copy);
        return;
    }
    const int scan = args->kind == TUTTI_PCOLL_SCAN || args->kind == TUTTI_PCOLL_EXSCAN;
    tutti_pcoll_fold_ranks(p, step, at, included, !scan, out, &block, block.count);
}

static void at_once_build(struct tutti_pcoll *p)
{
    const int size = p->args.size, rank = p->args.rank;
    struct tutti_pcoll_at *at = calloc((size_t)size, sizeof *at);
    unsigned char *included = calloc((size_t)size, 1);
    if (at && included) {
        at_once_send(p);
        if (p->args.recv.used && !(p->args.kind == TUTTI_PCOLL_EXSCAN && rank == 0))
            at_once_receive(p, at, included);
    } else {
        p->failed = 1;
    }
    free(at);
    free(included);
}

const struct tutti_pcoll_row tutti_pcoll_at_once = {.name = "at_once",
                                                    .kinds = TUTTI_PCOLL_KIND(ALLREDUCE) | TUTTI_PCOLL_KIND(REDUCE) |
                                                             TUTTI_PCOLL_KIND(REDUCE_SCATTER) | TUTTI_PCOLL_KIND(SCAN) |
                                                             TUTTI_PCOLL_KIND(EXSCAN),
                                                    .build = at_once_build};
