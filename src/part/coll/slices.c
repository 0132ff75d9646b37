/* slices: each rank combines a slice of every partition, and sends the result to the ranks that get it. A rank sends
 * and receives 2 (P - 1) / P of the message, in two latencies. All contributions of an element are in one place when
 * they are combined, so the bits are those of at_once. */
#include <stdlib.h>

#include "core/types.h"
#include "part/coll/reduce.h"

enum { CONTRIBUTIONS, RESULTS }; /* labels */

static int slices_can(const struct tutti_pcoll *p)
{
    return p->args.type != TUTTI_TYPE_NONE && tutti_pcoll_contribution(p)->count >= p->args.size;
}

/* Slice `s` of a partition of the block at `base`; *bytes: its length. */
static struct tutti_pcoll_at pcoll_slice_of(const struct tutti_pcoll *p, enum tutti_pcoll_base base, int s,
                                            uint64_t *bytes)
{
    const struct tutti_pcoll_block *block = base == TUTTI_PCOLL_RECVBUF ? p->args.recv.block : p->args.send.block;
    const struct tutti_part_slice slice = tutti_pcoll_slice(block->count, p->args.size, s);
    *bytes = (uint64_t)slice.count * (uint64_t)p->size;
    return (struct tutti_pcoll_at){base, block->offset + slice.begin * p->size, block->count * p->size};
}

static int slice_edge(struct tutti_pcoll *p, int send, int peer, int label, enum tutti_pcoll_base base, int s)
{
    uint64_t bytes;
    const struct tutti_pcoll_at at = pcoll_slice_of(p, base, s, &bytes);
    return tutti_pcoll_edge_bytes(p, send, peer, label, at, bytes, p->partitions);
}

/* Room for one slice of all partitions. */
static struct tutti_pcoll_at slice_room(struct tutti_pcoll *p, uint64_t bytes)
{
    return (struct tutti_pcoll_at){TUTTI_PCOLL_SCRATCH, tutti_pcoll_scratch(p, bytes * (uint64_t)p->partitions),
                                   (int64_t)bytes};
}

/* The contributions to this rank's slice arrive, and are combined. Where the result goes. */
static struct tutti_pcoll_at slices_combine(struct tutti_pcoll *p, struct tutti_pcoll_step *step,
                                            struct tutti_pcoll_at at[], unsigned char included[])
{
    const int rank = p->args.rank;
    uint64_t bytes;
    const struct tutti_pcoll_at own = pcoll_slice_of(p, tutti_pcoll_own(p), rank, &bytes);
    for (int r = 0; r < p->args.size; r++) {
        included[r] = 1;
        at[r] = r == rank ? own : slice_room(p, bytes);
        if (r != rank)
            tutti_pcoll_in(p, step, tutti_pcoll_edge_bytes(p, 0, r, CONTRIBUTIONS, at[r], bytes, p->partitions));
    }
    const struct tutti_pcoll_at out =
        p->args.recv.used ? pcoll_slice_of(p, TUTTI_PCOLL_RECVBUF, rank, &bytes) : slice_room(p, bytes);
    tutti_pcoll_fold_ranks(p, step, at, included, 1, out, tutti_pcoll_contribution(p),
                           (int64_t)(bytes / (uint64_t)p->size));
    return out;
}

static void slices_results(struct tutti_pcoll *p, struct tutti_pcoll_step *step, struct tutti_pcoll_at mine)
{
    const int size = p->args.size, rank = p->args.rank, to_all = p->args.kind == TUTTI_PCOLL_ALLREDUCE;
    uint64_t bytes;
    pcoll_slice_of(p, tutti_pcoll_own(p), rank, &bytes);
    for (int k = 1; k < size; k++) {
        const int to = (rank + k) % size;
        if (to_all || to == p->args.root)
            tutti_pcoll_out(p, step, tutti_pcoll_edge_bytes(p, 1, to, RESULTS, mine, bytes, p->partitions));
    }
    if (!p->args.recv.used)
        return;
    step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    for (int r = 0; r < size; r++) {
        if (r != rank)
            tutti_pcoll_in(p, step, slice_edge(p, 0, r, RESULTS, TUTTI_PCOLL_RECVBUF, r));
    }
}

static void slices_build(struct tutti_pcoll *p)
{
    const int size = p->args.size, rank = p->args.rank;
    struct tutti_pcoll_at *at = calloc((size_t)size, sizeof *at);
    unsigned char *included = calloc((size_t)size, 1);
    if (at && included) {
        struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
        step->own = 1;
        for (int k = 1; k < size; k++) {
            const int to = (rank + k) % size;
            tutti_pcoll_out(p, step, slice_edge(p, 1, to, CONTRIBUTIONS, tutti_pcoll_own(p), to));
        }
        step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
        slices_results(p, step, slices_combine(p, step, at, included));
    } else {
        p->failed = 1;
    }
    free(at);
    free(included);
}

const struct tutti_pcoll_row tutti_pcoll_slices = {.name = "slices",
                                                   .kinds = TUTTI_PCOLL_KIND(ALLREDUCE) | TUTTI_PCOLL_KIND(REDUCE),
                                                   .can = slices_can,
                                                   .build = slices_build};
