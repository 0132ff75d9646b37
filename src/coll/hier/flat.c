/* flat: each rank sends its contribution to all ranks, and combines for itself: first the contributions of each node in
 * rank order, then the results of the nodes. So the bits are those of the other rows, for one latency and two copies
 * between the GPU and host memory. For few ranks and few bytes. */
#include "coll/hier/own.h"

enum { FLAT_RANKS = 8 };

/* Contributions of all ranks, and results of nodes. */
static size_t by_node_room(int n, size_t count, size_t size)
{
    return 2 * (size_t)n * count * size;
}

/* Rank number i in the order of the nodes. */
static int by_node_rank(const struct tutti_wire *w, int i)
{
    for (int node = 0; node < w->nodes; node++) {
        for (int r = 0; r < w->n; r++) {
            if (w->node_of[r] == node && i-- == 0)
                return r;
        }
    }
    return w->n;
}

static void by_node_messages(struct tutti_wire *w)
{
    for (int i = 0; i < w->n; i++) {
        const int r = by_node_rank(w, i);
        char *const theirs = w->room + (size_t)i * w->count * w->size;
        w->theirs[i] = r == w->me ? w->mine : theirs;
        w->brought[i] = r == w->me ? w->have : tutti_wire_receive(w, r, 0, theirs, w->count);
    }
    for (int k = 1; k < w->n; k++) /* each rank begins with another peer */
        tutti_wire_ends(w, tutti_wire_send(w, (w->me + k) % w->n, 0, w->mine, w->count, w->have));
}

/* The result of a node of one rank is its contribution. */
static void by_node_add(struct tutti_wire *w)
{
    by_node_messages(w);
    for (int node = 0, begin = 0; node < w->nodes; node++) {
        char *const result = w->room + (size_t)(w->n + node) * w->count * w->size;
        int end = begin;
        while (end < w->n && w->node_of[by_node_rank(w, end)] == node)
            end++;
        const int alone = end - begin == 1;
        w->theirs[w->n + node] = alone ? w->theirs[begin] : result;
        w->brought[w->n + node] =
            alone ? w->brought[begin] : tutti_wire_combine_some(w, NULL, begin, end, result, w->count, -1);
        begin = end;
    }
    tutti_wire_ends(w, tutti_wire_combine_some(w, NULL, w->n, w->n + w->nodes, w->out, w->count, -1));
}

static const struct tutti_exchange_row exchange_by_node = {.name = "by node", .room = by_node_room, .add = by_node_add};

static int flat_can(const struct tutti_hierarchy *hierarchy)
{
    return hierarchy->ranks->size <= FLAT_RANKS;
}

const struct tutti_nodes_row tutti_nodes_flat = {.name = "flat", .flat = &exchange_by_node, .can = flat_can};
