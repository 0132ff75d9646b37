/* Schedules of data movers: pairwise, binomial, forward. */
#include "part/coll/own.h"

#define KIND(kind) (1u << TUTTI_PCOLL_##kind)

/* ---- pairwise ---- */

/* In place the blocks that arrive would overwrite partitions that the program has not marked yet: they wait in the
 * scratch until the round ends. */
static int arrives_later(struct tutti_pcoll *p, const struct tutti_pcoll_block *block)
{
    const int partitions = p->args.recv.partitions;
    const uint64_t bytes = (uint64_t)block->count * block->plan->size;
    const struct tutti_pcoll_at packed = {TUTTI_PCOLL_SCRATCH, tutti_pcoll_scratch(p, bytes * (uint64_t)partitions),
                                          (int64_t)bytes};
    tutti_pcoll_finish(p, (struct tutti_pcoll_copy){.from = packed,
                                                    .to = tutti_pcoll_at(TUTTI_PCOLL_RECVBUF, block),
                                                    .to_plan = block->plan,
                                                    .count = block->count,
                                                    .bytes = bytes});
    return tutti_pcoll_edge_bytes(p, 0, block->peer, block->label, packed, bytes, partitions);
}

/* The first block of a loop over all: each rank begins with another peer. */
static int first_block(const struct tutti_pcoll *p, const struct tutti_pcoll_side *side)
{
    return side->blocks > 0 ? (p->args.rank + 1) % side->blocks : 0;
}

static void pairwise_send(struct tutti_pcoll *p)
{
    const struct tutti_pcoll_side *side = &p->args.send;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_SEND);
    const int first = first_block(p, side);
    step->own = 1;
    for (int i = 0; i < side->blocks; i++) {
        const struct tutti_pcoll_block *block = &side->block[(first + i) % side->blocks];
        tutti_pcoll_out(
            p, step,
            tutti_pcoll_edge_block(p, 1, block->peer, block->label, TUTTI_PCOLL_SENDBUF, block, side->partitions));
    }
}

static void pairwise_receive(struct tutti_pcoll *p)
{
    const struct tutti_pcoll_side *side = &p->args.recv;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    for (int i = 0; i < side->blocks; i++) {
        const struct tutti_pcoll_block *block = &side->block[i];
        const int edge = p->args.in_place ? arrives_later(p, block)
                                          : tutti_pcoll_edge_block(p, 0, block->peer, block->label, TUTTI_PCOLL_RECVBUF,
                                                                   block, side->partitions);
        tutti_pcoll_in(p, step, edge);
    }
}

/* The block that this rank contributes to an allgather, and its message to `peer`. */
static int gathered_send(struct tutti_pcoll *p, int peer)
{
    const struct tutti_pcoll_args *args = &p->args;
    return args->in_place ? tutti_pcoll_edge_block(p, 1, peer, args->rank, TUTTI_PCOLL_RECVBUF,
                                                   &args->recv.block[args->rank], args->recv.partitions)
                          : tutti_pcoll_edge_block(p, 1, peer, args->rank, TUTTI_PCOLL_SENDBUF, args->send.block,
                                                   args->send.partitions);
}

static int gathered_receive(struct tutti_pcoll *p, int peer, int block)
{
    return tutti_pcoll_edge_block(p, 0, peer, block, TUTTI_PCOLL_RECVBUF, &p->args.recv.block[block],
                                  p->args.recv.partitions);
}

static void pairwise_gather(struct tutti_pcoll *p)
{
    const int size = p->args.size, rank = p->args.rank, own = !p->args.in_place;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_SEND);
    step->own = 1;
    for (int k = own ? 0 : 1; k < size; k++)
        tutti_pcoll_out(p, step, gathered_send(p, (rank + k) % size));
    step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    for (int k = own ? 0 : 1; k < size; k++) {
        const int from = (rank - k + size) % size;
        tutti_pcoll_in(p, step, gathered_receive(p, from, from));
    }
}

static int bcast_edge(struct tutti_pcoll *p, int send, int peer)
{
    return tutti_pcoll_edge_block(p, send, peer, 0, TUTTI_PCOLL_RECVBUF, p->args.recv.block, p->args.recv.partitions);
}

static void pairwise_bcast(struct tutti_pcoll *p)
{
    const int size = p->args.size, root = p->args.root;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    step->own = p->args.rank == root;
    if (!step->own)
        tutti_pcoll_in(p, step, bcast_edge(p, 0, root));
    for (int k = 1; k < size && step->own; k++)
        tutti_pcoll_out(p, step, bcast_edge(p, 1, (root + k) % size));
}

static void pairwise_build(struct tutti_pcoll *p)
{
    if (p->args.kind == TUTTI_PCOLL_ALLGATHER) {
        pairwise_gather(p);
    } else if (p->args.kind == TUTTI_PCOLL_BCAST) {
        pairwise_bcast(p);
    } else {
        pairwise_send(p);
        pairwise_receive(p);
    }
}

const struct tutti_pcoll_row tutti_pcoll_pairwise = {
    .name = "pairwise", .kinds = KIND(MOVE) | KIND(ALLGATHER) | KIND(BCAST), .build = pairwise_build};

/* ---- binomial ---- */

static void binomial_build(struct tutti_pcoll *p)
{
    const int size = p->args.size, root = p->args.root, place = (p->args.rank - root + size) % size;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    int below = 1; /* the ranks below this one are at most so far away */
    while (below < size && !(place & below))
        below *= 2;
    step->own = place == 0;
    if (place != 0)
        tutti_pcoll_in(p, step, bcast_edge(p, 0, (place - below + root) % size));
    for (below /= 2; below > 0; below /= 2) {
        if (place + below < size)
            tutti_pcoll_out(p, step, bcast_edge(p, 1, (place + below + root) % size));
    }
}

const struct tutti_pcoll_row tutti_pcoll_binomial = {.name = "binomial", .kinds = KIND(BCAST), .build = binomial_build};

/* ---- forward ---- */

static void forward_build(struct tutti_pcoll *p)
{
    const int size = p->args.size, rank = p->args.rank, own = !p->args.in_place;
    const int right = (rank + 1) % size, left = (rank - 1 + size) % size;
    struct tutti_pcoll_step *step = tutti_pcoll_step(p, TUTTI_PCOLL_SEND);
    step->own = 1;
    if (size > 1)
        tutti_pcoll_out(p, step, gathered_send(p, right));
    if (own)
        tutti_pcoll_out(p, step, gathered_send(p, rank));
    for (int k = 1; k < size; k++) {
        const int block = (rank - k + size) % size;
        step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
        tutti_pcoll_in(p, step, gathered_receive(p, left, block));
        if (k < size - 1)
            tutti_pcoll_out(p, step,
                            tutti_pcoll_edge_block(p, 1, right, block, TUTTI_PCOLL_RECVBUF, &p->args.recv.block[block],
                                                   p->args.recv.partitions));
    }
    step = tutti_pcoll_step(p, TUTTI_PCOLL_RECV);
    if (own)
        tutti_pcoll_in(p, step, gathered_receive(p, rank, rank));
}

const struct tutti_pcoll_row tutti_pcoll_forward = {
    .name = "forward", .kinds = KIND(ALLGATHER), .build = forward_build};
