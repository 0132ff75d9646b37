/* ring: a slice goes from rank to rank, and each adds its contribution; then the results go round. Two neighbours, 2 (P
 * - 1) latencies. Each slice is combined in another order, so only operations whose bits do not depend on the order
 * take this row. Source: algorithm 1 of the slides named in pcoll.h. */
#include "core/types.h"
#include "part/coll/reduce.h"

static int ring_can(const struct tutti_pcoll *p)
{
    return tutti_pcoll_exact(p) && p->args.size > 1 && tutti_pcoll_contribution(p)->count >= p->args.size;
}

/* Slice `s` of a block; *count: its elements. */
static struct tutti_pcoll_at ring_slice(const struct tutti_pcoll *p, enum tutti_pcoll_base base, int s, int64_t *count)
{
    const struct tutti_pcoll_block *block = base == TUTTI_PCOLL_RECVBUF ? p->args.recv.block : p->args.send.block;
    const struct tutti_part_slice slice = tutti_pcoll_slice(block->count, p->args.size, s);
    *count = slice.count;
    return (struct tutti_pcoll_at){base, block->offset + slice.begin * p->size, block->count * p->size};
}

static int ring_edge(struct tutti_pcoll *p, int send, int label, struct tutti_pcoll_at at, int64_t count)
{
    const int size = p->args.size, step = send ? 1 : size - 1;
    return tutti_pcoll_edge_bytes(p, send, (p->args.rank + step) % size, label, at, (uint64_t)(count * p->size),
                                  p->partitions);
}

/* Message i brings the sum of i + 1 ranks. Returns where this rank's sum goes. */
static struct tutti_pcoll_at pcoll_ring_add(struct tutti_pcoll *p, struct tutti_pcoll_step *step, int i)
{
    const int size = p->args.size, slice = (p->args.rank - i - 1 + 2 * size) % size;
    int64_t count;
    const struct tutti_pcoll_at own = ring_slice(p, tutti_pcoll_own(p), slice, &count);
    const uint64_t bytes = (uint64_t)(count * p->size);
    const struct tutti_pcoll_at partial = {TUTTI_PCOLL_SCRATCH, tutti_pcoll_scratch(p, bytes * (uint64_t)p->partitions),
                                           (int64_t)bytes};
    const struct tutti_pcoll_at out = i == size - 2 ? ring_slice(p, TUTTI_PCOLL_RECVBUF, slice, &count) : partial;
    tutti_pcoll_in(p, step, ring_edge(p, 0, i, partial, count));
    struct tutti_pcoll_fold *fold = tutti_pcoll_fold(p, step, 2, 1, out, count);
    if (fold) {
        fold->term[0] = partial;
        fold->term[1] = own;
    }
    tutti_pcoll_out(p, step, ring_edge(p, 1, i + 1, out, count));
    return out;
}

static void ring_build(struct tutti_pcoll *p)
{
    const int size = p->args.size, rank = p->args.rank;
    int64_t count;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    step->own = 1;
    struct tutti_pcoll_at at = ring_slice(p, tutti_pcoll_own(p), rank, &count);
    tutti_pcoll_out(p, step, ring_edge(p, 1, 0, at, count));
    for (int i = 0; i < size - 1; i++) {
        step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
        pcoll_ring_add(p, step, i);
    }
    for (int i = size - 1; i < 2 * (size - 1); i++) {
        const int slice = (rank - i - 1 + 2 * size) % size;
        step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
        at = ring_slice(p, TUTTI_PCOLL_RECVBUF, slice, &count);
        tutti_pcoll_in(p, step, ring_edge(p, 0, i, at, count));
        if (i + 1 < 2 * (size - 1))
            tutti_pcoll_out(p, step, ring_edge(p, 1, i + 1, at, count));
    }
}

const struct tutti_pcoll_row tutti_pcoll_ring = {
    .name = "ring", .kinds = TUTTI_PCOLL_KIND(ALLREDUCE), .can = ring_can, .build = ring_build};
