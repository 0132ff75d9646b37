/* chain: a partial result goes from rank to rank in rank order, and each rank adds its contribution. Every link carries
 * each byte once, in P latencies. Not for half precision, which is rounded once, and for a reduction over several nodes
 * only if the order is that of the ranks. */
#include "core/types.h"
#include "part/coll/reduce.h"

static int pcoll_chain_can(const struct tutti_pcoll *p)
{
    return tutti_pcoll_partial(p) && p->args.size > 1 && (p->args.kind != TUTTI_PCOLL_REDUCE || p->groups == 1);
}

static int chain_edge(struct tutti_pcoll *p, int send, int peer, struct tutti_pcoll_at at)
{
    struct tutti_pcoll_block block = *tutti_pcoll_contribution(p);
    block.offset = at.offset;
    return tutti_pcoll_edge_block(p, send, peer, 0, at.base, &block, p->partitions);
}

static void chain_fold(struct tutti_pcoll *p, struct tutti_pcoll_step *step, struct tutti_pcoll_at before,
                       struct tutti_pcoll_at out)
{
    const struct tutti_pcoll_block *block = tutti_pcoll_contribution(p);
    struct tutti_pcoll_fold *fold = tutti_pcoll_fold(p, step, 2, 1, out, block->count);
    if (!fold)
        return;
    fold->term[0] = before;
    fold->term[1] = tutti_pcoll_at(tutti_pcoll_own(p), block);
}

static void chain_copy(struct tutti_pcoll *p, struct tutti_pcoll_step *step, struct tutti_pcoll_at from,
                       struct tutti_pcoll_at to)
{
    const struct tutti_pcoll_block *block = tutti_pcoll_contribution(p);
    tutti_pcoll_copy(p, step,
                     (struct tutti_pcoll_copy){.from = from,
                                               .to = to,
                                               .from_plan = block->plan,
                                               .to_plan = block->plan,
                                               .count = block->count,
                                               .bytes = (uint64_t)block->count * block->plan->size});
}

/* Where the sum of this rank and those before it goes: it is the result of a scan, and of the root if it is the last.
 */
static struct tutti_pcoll_at chain_sum(struct tutti_pcoll *p)
{
    const int last = p->args.rank == p->args.size - 1;
    if (p->args.kind == TUTTI_PCOLL_SCAN ||
        (p->args.kind == TUTTI_PCOLL_REDUCE && last && p->args.rank == p->args.root))
        return tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, p->args.recv.block);
    return tutti_pcoll_slot(p, tutti_pcoll_contribution(p), p->partitions);
}

static void chain_first(struct tutti_pcoll *p)
{
    const struct tutti_pcoll_block *block = tutti_pcoll_contribution(p);
    const struct tutti_pcoll_at own = tutti_pcoll_at(tutti_pcoll_own(p), block);
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    step->own = 1;
    if (p->args.kind == TUTTI_PCOLL_SCAN && !p->args.in_place)
        chain_copy(p, step, own, tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, p->args.recv.block));
    tutti_pcoll_out(p, step, chain_edge(p, 1, 1, own));
}

static void chain_next(struct tutti_pcoll *p)
{
    const struct tutti_pcoll_args *args = &p->args;
    const int rank = args->rank, last = rank == args->size - 1, exclusive = args->kind == TUTTI_PCOLL_EXSCAN;
    const struct tutti_pcoll_at before = exclusive && !args->in_place
                                             ? tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, args->recv.block)
                                             : tutti_pcoll_slot(p, tutti_pcoll_contribution(p), p->partitions);
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    step->own = 1;
    tutti_pcoll_in(p, step, chain_edge(p, 0, rank - 1, before));
    if (!exclusive || !last) {
        const struct tutti_pcoll_at sum = chain_sum(p);
        chain_fold(p, step, before, sum);
        if (!last)
            tutti_pcoll_out(p, step, chain_edge(p, 1, rank + 1, sum));
        else if (args->kind == TUTTI_PCOLL_REDUCE && rank != args->root)
            tutti_pcoll_out(p, step, chain_edge(p, 1, args->root, sum));
    }
    if (exclusive && args->in_place)
        chain_copy(p, step, before, tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, args->recv.block));
}

static void chain_build(struct tutti_pcoll *p)
{
    const struct tutti_pcoll_args *args = &p->args;
    if (args->rank == 0)
        chain_first(p);
    else
        chain_next(p);
    if (args->kind == TUTTI_PCOLL_REDUCE && args->rank == args->root && args->rank != args->size - 1) {
        struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
        tutti_pcoll_in(p, step,
                       chain_edge(p, 0, args->size - 1, tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, args->recv.block)));
    }
}

const struct tutti_pcoll_row tutti_pcoll_chain = {.name = "chain",
                                                  .kinds = TUTTI_PCOLL_KIND(REDUCE) | TUTTI_PCOLL_KIND(SCAN) |
                                                           TUTTI_PCOLL_KIND(EXSCAN),
                                                  .can = pcoll_chain_can,
                                                  .build = chain_build};
