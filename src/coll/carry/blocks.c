/* Blocks of a list as items of a wire. Several blocks between two ranks are one item: messages with one tag overtake
 * each other where one is copied before it is sent and the other is not. */
#include <stdlib.h>

#include "coll/carry/wire.h"
#include "core/status.h"

struct block_at {
    struct tutti_move_block *block;
    int distance; /* of the receiver from the sender, in ranks */
    int place;    /* in the list */
};

static int blocks_by_distance(const void *one, const void *other)
{
    const struct block_at *a = one, *b = other;
    const int distance = (a->distance > b->distance) - (a->distance < b->distance);
    return distance ? distance : (a->place > b->place) - (a->place < b->place);
}

int tutti_carry_wire_blocks(struct tutti_carry_wire *wire, enum tutti_carry_way way, struct tutti_move_block *block,
                            int blocks, int me, int ranks)
{
    struct tutti_carry_flow *flow = &wire->flow[way];
    struct block_at *at = malloc(((size_t)blocks + 1) * sizeof *at);
    int n = 0;
    flow->part = malloc(((size_t)blocks + 1) * sizeof *flow->part);
    if (!at || !flow->part) {
        free(at);
        return TUTTI_ERR_MEMORY;
    }
    for (int i = 0; i < blocks; i++) {
        const int ahead = way == TUTTI_CARRY_OUT ? block[i].rank - me : me - block[i].rank;
        if (block[i].bytes > 0 && block[i].rank != me)
            at[n++] = (struct block_at){.block = &block[i], .distance = (ahead + ranks) % ranks, .place = i};
    }
    qsort(at, (size_t)n, sizeof *at, blocks_by_distance);
    for (int i = 0, end; i < n; i = end) {
        uint64_t bytes = 0;
        for (end = i; end < n && at[end].distance == at[i].distance; end++)
            flow->part[end] =
                (struct tutti_carry_part){.elements = &at[end].block->elements, .end = bytes += at[end].block->bytes};
        struct tutti_move_block *first = at[i].block;
        if (end - i > 1)
            tutti_carry_wire_join(wire, way, &flow->part[i], end - i, &first->rank, at[i].distance);
        else if (way == TUTTI_CARRY_OUT)
            tutti_carry_wire_send(wire, &first->elements, 0, first->bytes, &first->rank, 1, at[i].distance);
        else
            tutti_carry_wire_receive(wire, &first->elements, 0, first->bytes, first->rank, NULL, 0, at[i].distance);
    }
    free(at);
    return TUTTI_OK;
}
