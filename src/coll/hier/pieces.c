/* How a call over several nodes is divided: pieces of the message, parts of a piece, and each rank's share of the
 * result. */
#include "coll/hier/own.h"

struct tutti_part_of tutti_nodes_piece(const struct tutti_nodes_call *c, int piece)
{
    const size_t begin = c->each * (size_t)piece, left = c->call->count - begin;
    return (struct tutti_part_of){begin, left < c->each ? left : c->each};
}

/* Parts begin at whole lines of kernels. */
struct tutti_part_of tutti_nodes_part(const struct tutti_nodes_call *c, size_t count, int r)
{
    enum { GRAIN = 32 };
    const size_t leaders = (size_t)c->leaders;
    const size_t each = ((count + leaders - 1) / leaders + GRAIN - 1) / GRAIN * GRAIN, begin = each * (size_t)r;
    if (r >= c->leaders || begin >= count)
        return (struct tutti_part_of){count, 0};
    return (struct tutti_part_of){begin, count - begin < each ? count - begin : each};
}

struct tutti_part_of tutti_nodes_wanted(const struct tutti_nodes_call *c, int r, struct tutti_part_of of, char **to)
{
    const struct tutti_result result = tutti_result_of(c->call, r, c->nodes->hierarchy->ranks->size);
    const size_t begin = of.begin > result.begin ? of.begin : result.begin;
    const size_t end = of.begin + of.count, result_end = result.begin + result.count;
    const size_t least = end < result_end ? end : result_end;
    if (least <= begin)
        return (struct tutti_part_of){of.begin, 0};
    if (to)
        *to = (char *)c->call->out + (begin - result.begin) * c->size;
    return (struct tutti_part_of){begin, least - begin};
}

/* The part of this rank in the exchange of a piece. */
struct tutti_part_of tutti_nodes_own_part(const struct tutti_nodes_call *c, int piece)
{
    const struct tutti_part_of all = tutti_nodes_piece(c, piece);
    if (c->row->flat)
        return (struct tutti_part_of){0, all.count};
    return tutti_nodes_part(c, all.count, c->nodes->hierarchy->rank);
}

int tutti_nodes_participants(const struct tutti_nodes_call *c)
{
    const struct tutti_hierarchy *h = c->nodes->hierarchy;
    return c->row->flat ? h->ranks->size : h->nodes;
}

const struct tutti_exchange_row *tutti_nodes_exchange(const struct tutti_nodes_call *c, size_t count)
{
    if (c->call->collective == TUTTI_COLLECTIVE_SCAN)
        return &tutti_exchange_through;
    if (c->call->collective == TUTTI_COLLECTIVE_EXSCAN)
        return &tutti_exchange_before;
    return c->row->flat ? c->row->flat : tutti_exchange_choose(c->nodes, tutti_nodes_participants(c), count, c->size);
}
