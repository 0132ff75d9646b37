#include "coll/carry/bcast.h"

#include <stdlib.h>

#include "core/status.h"

enum { ROUNDS = TUTTI_CARRY_OF_NODE }; /* under way at a time */

struct bcast {
    struct tutti_carry_call *c;
    int lanes, root_node, root_local;
    int lane; /* that this rank is in; -1: none */
    int from; /* rank that sends to this one; -1: none */
    int *to;  /* [tos]: ranks that this one sends to */
    int tos;
    char *run;                              /* the message on this rank, as a run of bytes */
    uint64_t bytes, each;                   /* of a round; the last one may be shorter */
    struct tutti_elements given, *elements; /* of the program; NULL: it has no bytes */
    struct tutti_carry_wire wire[ROUNDS];
    struct tutti_elements slice[ROUNDS];
};

/* ---- lanes, rounds and slices ---- */

/* Number on its node of the rank in a lane. In the root's node lane 0 is the root. */
static int bcast_local_of(const struct bcast *b, int node, int lane)
{
    return node == b->root_node ? (b->root_local + lane) % tutti_carry_size_of(b->c->kept, node) : lane;
}

static int bcast_find_path(struct bcast *b, tutti_carry_path *path)
{
    const struct tutti_carry *k = b->c->kept;
    const struct tutti_hierarchy *h = b->c->h;
    const int n = h->nodes, me = (h->node - b->root_node + n) % n;
    int from = -1;
    b->lane = b->from = -1;
    for (int lane = 0; lane < b->lanes; lane++)
        b->lane = bcast_local_of(b, h->node, lane) == h->rank ? lane : b->lane;
    if (!(b->to = malloc((size_t)n * sizeof *b->to)))
        return TUTTI_ERR_MEMORY;
    if (b->lane < 0)
        return TUTTI_OK;
    b->tos = path(me, n, &from, b->to);
    for (int i = 0; i < b->tos; i++) {
        const int node = (b->to[i] + b->root_node) % n;
        b->to[i] = tutti_carry_member(k, node, bcast_local_of(b, node, b->lane));
    }
    if (from >= 0) {
        const int node = (from + b->root_node) % n;
        b->from = tutti_carry_member(k, node, bcast_local_of(b, node, b->lane));
    }
    return TUTTI_OK;
}

struct part {
    uint64_t begin, bytes;
};

static struct part bcast_part_of(uint64_t begin, uint64_t all, uint64_t each)
{
    return (struct part){begin, begin >= all ? 0 : all - begin < each ? all - begin : each};
}

static struct part bcast_round_of(const struct bcast *b, uint64_t round)
{
    return bcast_part_of(round * b->each, b->bytes, b->each);
}

/* Slices begin at whole lines of kernels. */
static struct part bcast_slice_of(const struct bcast *b, uint64_t round, int lane)
{
    enum { GRAIN = 128 };
    const struct part all = bcast_round_of(b, round);
    const uint64_t lanes = (uint64_t)b->lanes;
    const uint64_t each = ((all.bytes + lanes - 1) / lanes + GRAIN - 1) / GRAIN * GRAIN;
    const struct part part = bcast_part_of(each * (uint64_t)lane, all.bytes, each);
    return (struct part){all.begin + part.begin, part.bytes};
}

/* ---- the message as a run of bytes ---- */

/* Elements with gaps, or in memory of several kinds, pass through memory of one GPU, or of the host. */
static int bcast_make_run(struct bcast *b)
{
    struct tutti_carry_call *c = b->c;
    struct tutti_move_block *block = c->move->sends > 0      ? c->move->send
                                     : c->move->receives > 0 ? c->move->receive
                                                             : NULL;
    if (!block || block->bytes == 0)
        return TUTTI_OK;
    b->bytes = block->bytes;
    b->given = block->elements;
    b->elements = &b->given;
    const int host = tutti_carry_on_host(b->elements);
    const struct tutti_places *places = &b->elements->places;
    if (b->elements->whole && (host || tutti_places_reached(places))) {
        b->run = tutti_elements_run(b->elements);
        return TUTTI_OK;
    }
    if (places->device && places->gpu >= 0 && tutti_places_reached(places))
        b->run = tutti_carry_scratch(c->kept, places->gpu, b->bytes);
    if (!b->run) {
        const int status = tutti_host_memory_take(&c->aside, b->bytes);
        b->run = c->aside.memory;
        if (status != TUTTI_OK)
            return status;
    }
    return c->rank == c->call->root ? tutti_elements_move(TUTTI_PACK, b->elements, 0, b->bytes, b->run) : TUTTI_OK;
}

static int bcast_end_run(struct bcast *b)
{
    const int passed = b->elements && b->run != tutti_elements_run(b->elements);
    if (!passed || b->c->rank == b->c->call->root)
        return TUTTI_OK;
    return tutti_elements_move(TUTTI_UNPACK, b->elements, 0, b->bytes, b->run);
}

/* ---- a round ---- */

static int bcast_round_begin(struct bcast *b, uint64_t round)
{
    const int number = (int)(round % ROUNDS);
    struct tutti_carry_wire *wire = &b->wire[number];
    const struct part part = b->lane >= 0 ? bcast_slice_of(b, round, b->lane) : (struct part){0, 0};
    int status = tutti_carry_wire_open(wire, b->c, b->c->h->ranks, number, 1, 1);
    if (status == TUTTI_OK)
        status = tutti_carry_run_of(b->run + part.begin, part.bytes, &b->slice[number]);
    if (status != TUTTI_OK)
        return status;
    if (b->from >= 0)
        tutti_carry_wire_receive(wire, &b->slice[number], 0, part.bytes, b->from, b->to, b->tos, 0);
    else
        tutti_carry_wire_send(wire, &b->slice[number], 0, part.bytes, b->to, b->tos, 0);
    return tutti_carry_wire_start(wire);
}

static int bcast_round_await(struct bcast *b, uint64_t round)
{
    struct tutti_carry_wire *wire = &b->wire[round % ROUNDS];
    const int status = tutti_carry_wire_wait(wire);
    if (status == TUTTI_OK)
        tutti_carry_wire_close(wire, status);
    return status;
}

/* From the root to the ranks of its node. */
static int bcast_hand_to_node(struct bcast *b, uint64_t round)
{
    const struct tutti_hierarchy *h = b->c->h;
    const struct part part = bcast_round_of(b, round);
    struct tutti_elements elements;
    struct tutti_carry_meet meet;
    int status = tutti_carry_run_of(b->run + part.begin, part.bytes, &elements);
    if (!tutti_carry_meet_open(&meet, TUTTI_COLLECTIVE_BCAST, h->size, 1))
        return TUTTI_ERR_MEMORY;
    meet.root = b->root_local;
    for (int to = 0; to < h->size && h->rank == b->root_local; to++) {
        if (to != h->rank)
            tutti_carry_meet_send(&meet, to, &elements, part.bytes);
    }
    if (h->rank != b->root_local)
        tutti_carry_meet_receive(&meet, b->root_local, &elements, part.bytes);
    if (status == TUTTI_OK)
        status = tutti_carry_meet(b->c, &meet);
    tutti_carry_meet_close(&meet);
    return status;
}

/* Among the ranks of another node: from each lane its slice to all. */
static int bcast_hand_out(struct bcast *b, uint64_t round)
{
    const struct tutti_hierarchy *h = b->c->h;
    struct tutti_carry_meet meet;
    int status = TUTTI_OK;
    if (!tutti_carry_meet_open(&meet, b->lanes > 1 ? TUTTI_COLLECTIVE_ALLGATHERV : TUTTI_COLLECTIVE_BCAST, h->size,
                               b->lanes))
        return TUTTI_ERR_MEMORY;
    for (int lane = 0; lane < b->lanes && status == TUTTI_OK; lane++) {
        const struct part part = bcast_slice_of(b, round, lane);
        struct tutti_elements elements;
        status = tutti_carry_run_of(b->run + part.begin, part.bytes, &elements);
        if (status == TUTTI_OK && lane != b->lane)
            tutti_carry_meet_receive(&meet, lane, &elements, part.bytes);
        for (int to = 0; status == TUTTI_OK && lane == b->lane && to < h->size; to++) {
            if (to != h->rank)
                tutti_carry_meet_send(&meet, to, &elements, part.bytes);
        }
    }
    if (status == TUTTI_OK)
        status = tutti_carry_meet(b->c, &meet);
    tutti_carry_meet_close(&meet);
    return status;
}

/* ---- all rounds ---- */

/* With several lanes, the root's node has a round before it crosses the network. */
static int bcast_rounds_at_root(struct bcast *b, uint64_t rounds)
{
    const int alone = b->c->h->size == 1, before = b->lanes > 1 && !alone;
    int status = TUTTI_OK;
    for (uint64_t round = 0; round < rounds && status == TUTTI_OK; round++) {
        if (round >= ROUNDS)
            status = bcast_round_await(b, round - ROUNDS);
        if (status == TUTTI_OK && before)
            status = bcast_hand_to_node(b, round);
        if (status == TUTTI_OK)
            status = bcast_round_begin(b, round);
        if (status == TUTTI_OK && !before && !alone)
            status = bcast_hand_to_node(b, round);
    }
    for (uint64_t round = rounds < ROUNDS ? 0 : rounds - ROUNDS; round < rounds && status == TUTTI_OK; round++)
        status = bcast_round_await(b, round);
    return status;
}

static int bcast_rounds_elsewhere(struct bcast *b, uint64_t rounds)
{
    uint64_t begun = 0;
    int status = TUTTI_OK;
    for (uint64_t round = 0; round < rounds && status == TUTTI_OK; round++) {
        for (; begun < rounds && begun < round + ROUNDS && status == TUTTI_OK; begun++)
            status = bcast_round_begin(b, begun);
        if (status == TUTTI_OK)
            status = bcast_round_await(b, round);
        if (status == TUTTI_OK && b->c->h->size > 1)
            status = bcast_hand_out(b, round);
    }
    return status;
}

int tutti_carry_bcast(struct tutti_carry_call *c, int lanes, tutti_carry_path *path)
{
    const struct tutti_hierarchy *h = c->h;
    struct bcast b = {
        .c = c, .lanes = lanes, .root_node = h->node_of[c->call->root], .root_local = c->kept->local[c->call->root]};
    int status = bcast_find_path(&b, path);
    if (status == TUTTI_OK)
        status = bcast_make_run(&b);
    b.each = (uint64_t)c->piece * (uint64_t)lanes;
    const uint64_t rounds = (b.bytes + b.each - 1) / b.each;
    if (status == TUTTI_OK)
        status = h->node == b.root_node ? bcast_rounds_at_root(&b, rounds) : bcast_rounds_elsewhere(&b, rounds);
    if (status == TUTTI_OK)
        status = bcast_end_run(&b);
    for (int i = 0; i < ROUNDS && status != TUTTI_OK; i++) {
        if (b.wire[i].call)
            tutti_carry_wire_close(&b.wire[i], status);
    }
    free(b.to);
    return status;
}
