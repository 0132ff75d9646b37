/* lanes: an allgather. Each rank sends its block once to each other node, to the rank with its number there (modulo the
 * node's number of ranks). So all ranks of a node receive a part of the other nodes' blocks, which they hand out to
 * each other by the node's movers. Source of the idea: J. L. Träff and S. Hunold, "Decomposing MPI Collectives for
 * Exploiting Multi-lane Communication" (IEEE CLUSTER 2020). */
#include <stdlib.h>

#include "coll/carry/wire.h"
#include "core/status.h"

/* This rank's block. In place it is not among those that are received. */
static struct tutti_elements *lanes_own_block(struct tutti_carry_call *c, uint64_t *bytes)
{
    for (int i = 0; i < c->move->sends; i++) {
        *bytes = c->move->send[i].bytes;
        if (*bytes > 0)
            return &c->move->send[i].elements;
    }
    *bytes = 0;
    return NULL;
}

/* to: [nodes], set here. */
static void lanes_exchange(struct tutti_carry_call *c, struct tutti_carry_wire *wire, int *to)
{
    const struct tutti_carry *k = c->kept;
    const struct tutti_hierarchy *h = c->h;
    uint64_t bytes;
    struct tutti_elements *own = lanes_own_block(c, &bytes);
    int tos = 0;
    for (int step = 1; step < h->nodes; step++) {
        const int node = (h->node + step) % h->nodes, theirs = tutti_carry_size_of(k, node);
        to[tos++] = tutti_carry_member(k, node, h->rank % theirs);
    }
    if (own)
        tutti_carry_wire_send(wire, own, 0, bytes, to, tos, 0);
    for (int step = 1; step < h->nodes; step++) {
        const int node = (h->node - step + h->nodes) % h->nodes;
        for (int j = h->rank; j < tutti_carry_size_of(k, node); j += h->size) {
            const int from = tutti_carry_member(k, node, j);
            if (c->from[from])
                tutti_carry_wire_receive(wire, &c->from[from]->elements, 0, c->from[from]->bytes, from, NULL, 0, step);
        }
    }
}

/* Blocks [begin, begin + ranks of this node) of another node: one of each rank of this node. */
static int lanes_hand_out(struct tutti_carry_call *c, int node, int begin)
{
    const struct tutti_carry *k = c->kept;
    const struct tutti_hierarchy *h = c->h;
    const int theirs = tutti_carry_size_of(k, node);
    struct tutti_carry_meet meet;
    int blocks = 0;
    for (int i = 0; i < h->size && begin + i < theirs; i++)
        blocks += c->from[tutti_carry_member(k, node, begin + i)] != NULL;
    if (blocks == 0) /* on all ranks of the node */
        return TUTTI_OK;
    if (!tutti_carry_meet_open(&meet, TUTTI_COLLECTIVE_ALLGATHERV, h->size, h->size))
        return TUTTI_ERR_MEMORY;
    for (int i = 0; i < h->size && begin + i < theirs; i++) {
        const struct tutti_move_block *block = c->from[tutti_carry_member(k, node, begin + i)];
        if (block && i != h->rank)
            tutti_carry_meet_receive(&meet, i, &block->elements, block->bytes);
        for (int to = 0; block && i == h->rank && to < h->size; to++) {
            if (to != h->rank)
                tutti_carry_meet_send(&meet, to, &block->elements, block->bytes);
        }
    }
    const int status = tutti_carry_meet(c, &meet);
    tutti_carry_meet_close(&meet);
    return status;
}

static int lanes_hand_out_all(struct tutti_carry_call *c)
{
    int status = TUTTI_OK;
    for (int step = 1; step < c->h->nodes; step++) {
        const int node = (c->h->node + step) % c->h->nodes, theirs = tutti_carry_size_of(c->kept, node);
        for (int begin = 0; begin < theirs && status == TUTTI_OK; begin += c->h->size)
            status = lanes_hand_out(c, node, begin);
    }
    return status;
}

static int lanes_run(struct tutti_carry_call *c)
{
    struct tutti_carry_wire wire;
    int *const to = malloc((size_t)c->h->nodes * sizeof *to);
    int status = tutti_carry_wire_open(&wire, c, c->h->ranks, 0, 1, c->ranks);
    if (status == TUTTI_OK && !to)
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        lanes_exchange(c, &wire, to);
        status = tutti_carry_wire_start(&wire);
    }
    if (status == TUTTI_OK)
        status = tutti_carry_meet_own(c);
    if (status == TUTTI_OK)
        status = tutti_carry_wire_wait(&wire);
    if (status == TUTTI_OK && c->h->size > 1)
        status = lanes_hand_out_all(c);
    tutti_carry_wire_close(&wire, status);
    free(to);
    return status;
}

const struct tutti_carry_row tutti_carry_lanes = {
    .name = "lanes",
    .collectives = TUTTI_ON(ALLGATHER) | TUTTI_ON(ALLGATHERV),
    .run = lanes_run,
};
