/* doubling: contributions go to all ranks by recursive doubling, in as many steps as the number of ranks has bits. Then
 * each rank combines all of them. The scratch of a partition holds the contributions in the order of ranks, so what two
 * ranks exchange is one run of bytes. For a power of two of ranks. */
#include <stdlib.h>

#include "core/types.h"
#include "part/coll/reduce.h"

static int doubling_can(const struct tutti_pcoll *p)
{
    return p->args.type != TUTTI_TYPE_NONE && p->args.size > 1 && (p->args.size & (p->args.size - 1)) == 0;
}

static int doubling_edge(struct tutti_pcoll *p, int send, int bit, struct tutti_pcoll_at room, int64_t each)
{
    const int peer = p->args.rank ^ bit, first = (send ? p->args.rank : peer) & ~(bit - 1);
    struct tutti_pcoll_at at = room;
    at.offset += first * each;
    return tutti_pcoll_edge_bytes(p, send, peer, 0, at, (uint64_t)(bit * each), p->partitions);
}

static void doubling_steps(struct tutti_pcoll *p, struct tutti_pcoll_at at[], unsigned char included[])
{
    const struct tutti_pcoll_block *block = tutti_pcoll_contribution(p);
    const int64_t each = block->count * p->size;
    const struct tutti_pcoll_at room = {TUTTI_PCOLL_SCRATCH,
                                        tutti_pcoll_scratch(p, (uint64_t)(each * p->args.size * p->partitions)),
                                        each * p->args.size};
    for (int r = 0; r < p->args.size; r++) {
        included[r] = 1;
        at[r] = room;
        at[r].offset += r * each;
    }
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    step->own = 1;
    tutti_pcoll_copy(p, step,
                     (struct tutti_pcoll_copy){.from = tutti_pcoll_at(tutti_pcoll_own(p), block),
                                               .to = at[p->args.rank],
                                               .from_plan = block->plan,
                                               .to_plan = block->plan,
                                               .count = block->count,
                                               .bytes = (uint64_t)block->count * block->plan->size});
    for (int bit = 1; bit < p->args.size; bit *= 2) {
        tutti_pcoll_out(p, step, doubling_edge(p, 1, bit, room, each));
        step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
        tutti_pcoll_in(p, step, doubling_edge(p, 0, bit, room, each));
    }
    tutti_pcoll_fold_ranks(p, step, at, included, 1, tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, p->args.recv.block), block,
                           block->count);
}

static void doubling_build(struct tutti_pcoll *p)
{
    struct tutti_pcoll_at *at = calloc((size_t)p->args.size, sizeof *at);
    unsigned char *included = calloc((size_t)p->args.size, 1);
    if (at && included)
        doubling_steps(p, at, included);
    else
        p->failed = 1;
    free(at);
    free(included);
}

const struct tutti_pcoll_row tutti_pcoll_doubling = {
    .name = "doubling", .kinds = TUTTI_PCOLL_KIND(ALLREDUCE), .can = doubling_can, .build = doubling_build};
