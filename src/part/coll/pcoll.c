/* Requests: the schedule is built, and its messages are created, once. */
#include "part/coll/pcoll.h"

#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "part/coll/own.h"

const char *tutti_pcoll_algorithm(const struct tutti_pcoll *p)
{
    return p->row->name;
}

uint64_t tutti_pcoll_bytes(const struct tutti_pcoll *p)
{
    const struct tutti_pcoll_side *side = &p->args.send;
    uint64_t bytes = 0;
    for (int i = 0; side->used && i < side->blocks; i++)
        bytes += (uint64_t)side->block[i].count * side->block[i].plan->size * (uint64_t)side->partitions;
    return bytes;
}

/* A copy of an array of `n` entries. NULL without memory. */
static void *kept(const void *from, int n, size_t size)
{
    void *to = malloc((size_t)n * size + 1);
    if (to && n > 0)
        memcpy(to, from, (size_t)n * size);
    return to;
}

/* ---- the order of contributions ---- */

/* Node after node, by the lowest rank of each, and by rank in a node. */
static void order_find(struct tutti_pcoll *p)
{
    const int size = p->args.size, *node = p->args.node;
    int n = 0;
    p->groups = 0;
    for (int first = 0; first < size; first++) {
        int known = 0;
        for (int r = 0; r < first && !known; r++)
            known = !node || node[r] == node[first];
        for (int r = first; r < size && !known; r++) {
            if (!node || node[r] == node[first])
                p->order[n++] = r;
        }
        if (!known)
            p->group_end[p->groups++] = n;
    }
}

/* ---- messages ---- */

/* Of this collective alone, among all users of the communicator's number: mixed as splitmix64 does. */
static uint64_t comm_of(const struct tutti_pcoll *p)
{
    uint64_t x = p->args.comm + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int edges_open(struct tutti_pcoll *p)
{
    for (int i = 0; i < p->edges; i++) {
        struct tutti_pcoll_edge *edge = &p->edge[i];
        if (edge->peer < 0 || edge->partitions == 0 || edge->count == 0 || edge->plan->size == 0)
            continue;
        const struct tutti_part_args args = {.send = edge->send,
                                             .peer = p->args.world[edge->peer],
                                             .tag = edge->label,
                                             .comm = comm_of(p),
                                             .partitions = edge->partitions,
                                             .count = edge->count,
                                             .plan = edge->plan,
                                             .in_order = edge->in_order,
                                             .solid = edge->solid,
                                             .ended = tutti_pcoll_edge_ended,
                                             .with = p};
        if (!(edge->part = tutti_part_new(&args)))
            return TUTTI_ERR_MEMORY;
    }
    return TUTTI_OK;
}

/* ---- life ---- */

static int side_copy(struct tutti_pcoll_side *side)
{
    side->block = kept(side->block, side->blocks, sizeof *side->block);
    return side->block ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static int tracks_open(struct tutti_pcoll *p)
{
    struct tutti_pcoll_track *track = p->track;
    const int two = track[TUTTI_PCOLL_SEND].steps > 0;
    track[TUTTI_PCOLL_SEND].partitions = two && p->args.send.used ? p->args.send.partitions : 0;
    track[TUTTI_PCOLL_RECV].partitions = !two ? p->partitions : p->args.recv.used ? p->args.recv.partitions : 0;
    for (int t = 0; t < TUTTI_PCOLL_TRACKS; t++) {
        track[t].state = calloc((size_t)track[t].partitions + 1, sizeof *track[t].state);
        if (!track[t].state)
            return TUTTI_ERR_MEMORY;
    }
    return TUTTI_OK;
}

/* What all of `args` points to is copied. A status. */
static int args_copy(struct tutti_pcoll *p)
{
    const size_t n = (size_t)p->args.size + 1;
    const int sides = side_copy(&p->args.send) == TUTTI_OK, all = side_copy(&p->args.recv) == TUTTI_OK && sides;
    p->args.world = kept(p->args.world, p->args.size, sizeof *p->args.world);
    p->order = calloc(n, sizeof *p->order);
    p->group_end = calloc(n, sizeof *p->group_end);
    p->in = calloc(n, sizeof *p->in);
    p->writable = calloc(n, 1);
    p->result = calloc(n, sizeof *p->result);
    p->result_writable = calloc(n, 1);
    p->marks.ready = calloc((size_t)p->args.send.partitions + 1, 1);
    return all && p->args.world && p->order && p->group_end && p->in && p->writable && p->result &&
                   p->result_writable && p->marks.ready
               ? TUTTI_OK
               : TUTTI_ERR_MEMORY;
}

/* A status. */
static int pcoll_build(struct tutti_pcoll *p)
{
    const struct tutti_pcoll_side *side = p->args.send.used ? &p->args.send : &p->args.recv;
    if (args_copy(p) != TUTTI_OK)
        return TUTTI_ERR_MEMORY;
    order_find(p);
    p->args.node = NULL;
    p->partitions = side->partitions;
    p->plan0 = side->blocks > 0 ? side->block[0].plan : NULL;
    p->size = p->args.type == TUTTI_TYPE_NONE ? 0 : (int)tutti_type_size(p->args.type);
    p->row = tutti_pcoll_choose(p);
    p->row->build(p);
    tutti_pcoll_meet_new(p);
    if (p->failed || tracks_open(p) != TUTTI_OK)
        return TUTTI_ERR_MEMORY;
    return edges_open(p);
}

struct tutti_pcoll *tutti_pcoll_new(const struct tutti_pcoll_args *args)
{
    struct tutti_pcoll *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->args = *args;
    p->gpu = -1;
    if (pcoll_build(p) == TUTTI_OK)
        return p;
    tutti_pcoll_free(p);
    return NULL;
}

void tutti_pcoll_free(struct tutti_pcoll *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->edges; i++)
        tutti_part_free(p->edge[i].part);
    tutti_pcoll_detach(p);
    tutti_pcoll_memory_free(p);
    for (int t = 0; t < TUTTI_PCOLL_TRACKS; t++)
        free(p->track[t].state);
    tutti_pcoll_schedule_free(p);
    free(p->args.send.block);
    free(p->args.recv.block);
    free((void *)(uintptr_t)p->args.world);
    free(p->order);
    free(p->group_end);
    free(p->in);
    free(p->writable);
    free(p->result);
    free(p->result_writable);
    free(p->marks.ready);
    free(p);
}
