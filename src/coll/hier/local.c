/* The parts of a call that are inside the node, by messages among its ranks: for ranks with host memory among others,
 * and for nodes without a GPU. */
#include "coll/hier/own.h"
#include "core/status.h"

/* Tags of the two halves. */
enum { LOCAL_IN, LOCAL_OUT };

static void local_open(struct tutti_nodes_call *c, size_t count)
{
    const struct tutti_hierarchy *h = c->nodes->hierarchy;
    c->local = (struct tutti_wire){.transport = h->here,
                                   .peer = c->nodes->all,
                                   .names = h->member,
                                   .n = h->size,
                                   .me = h->rank,
                                   .tag = c->tag,
                                   .type = c->call->type,
                                   .op = c->call->op,
                                   .size = c->size,
                                   .count = count};
}

/* The call is found by its wire. */
static struct tutti_nodes_call *local_call_of(struct tutti_wire *w)
{
    return (struct tutti_nodes_call *)(void *)((char *)w - offsetof(struct tutti_nodes_call, local));
}

/* Each rank sends each leader its part; leaders combine. */
static void gather_add(struct tutti_wire *w)
{
    const struct tutti_nodes_call *c = local_call_of(w);
    const struct tutti_part_of mine = tutti_nodes_part(c, w->count, w->me);
    for (int r = 0; r < w->n && mine.count > 0; r++) {
        char *const theirs = w->room + (size_t)r * mine.count * w->size;
        w->theirs[r] = r == w->me ? w->mine + mine.begin * w->size : theirs;
        w->brought[r] = r == w->me ? w->have : tutti_wire_receive(w, r, LOCAL_IN, theirs, mine.count);
    }
    for (int k = 1; k < w->n; k++) {
        const int to = (w->me + k) % w->n;
        const struct tutti_part_of part = tutti_nodes_part(c, w->count, to);
        if (part.count > 0)
            tutti_wire_send(w, to, LOCAL_IN, w->mine + part.begin * w->size, part.count, w->have);
    }
    if (mine.count > 0)
        tutti_wire_combine(w, w->out, mine.count);
}

/* Each leader sends each rank what that rank gets of its part, which lies in the room. */
static void scatter_add(struct tutti_wire *w)
{
    const struct tutti_nodes_call *c = local_call_of(w);
    const struct tutti_hierarchy *h = c->nodes->hierarchy;
    const struct tutti_part_of all = tutti_nodes_piece(c, c->job_piece);
    for (int r = 0; r < w->n; r++) {
        struct tutti_part_of part = tutti_nodes_part(c, w->count, r);
        part.begin += all.begin;
        for (int k = 0; k < w->n && part.count > 0; k++) {
            const int to = (r + k) % w->n;
            const struct tutti_part_of wanted = tutti_nodes_wanted(c, h->member[to], part, NULL);
            const char *const from = w->room + (wanted.begin - part.begin) * w->size;
            char *const at = w->out + (wanted.begin - all.begin) * w->size;
            if (wanted.count == 0 || (r != w->me && to != w->me))
                continue;
            tutti_wire_ends(w, r != w->me    ? tutti_wire_receive(w, r, LOCAL_OUT, at, wanted.count)
                               : to == w->me ? tutti_wire_copy(w, at, from, wanted.count, -1)
                                             : tutti_wire_send(w, to, LOCAL_OUT, from, wanted.count, -1));
        }
    }
}

static const struct tutti_exchange_row gather_row = {.name = "gather in the node", .add = gather_add};
static const struct tutti_exchange_row scatter_row = {.name = "scatter in the node", .add = scatter_add};

int tutti_nodes_gather(struct tutti_nodes_call *c, int piece)
{
    const struct tutti_part_of all = tutti_nodes_piece(c, piece);
    const size_t part = tutti_nodes_part(c, all.count, c->nodes->hierarchy->rank).count;
    const size_t bytes = all.count * c->size, room = part * c->size * (size_t)c->nodes->hierarchy->size;
    int status = tutti_host_memory_take(&c->local_area, bytes + room);
    if (status == TUTTI_OK)
        status = tutti_area_take_piece(c, piece);
    if (status != TUTTI_OK)
        return status;
    local_open(c, all.count);
    c->local.in = c->local_area.memory;
    c->local.room = c->local_area.memory + bytes;
    c->local.out = c->area[piece % TUTTI_AREAS].memory; /* `in` of the wire */
    c->local.pinned = c->local_area.bounce && c->area[piece % TUTTI_AREAS].bounce;
    status = tutti_nodes_end(c, TUTTI_PORT_OUT, c->in_gpu, c->in_host,
                             (char *)(uintptr_t)c->call->in + all.begin * c->size, piece % TUTTI_AREAS, &c->local.from);
    return status == TUTTI_OK ? tutti_wire_build(&c->local, &gather_row) : status;
}

int tutti_nodes_scatter(struct tutti_nodes_call *c, int piece)
{
    const struct tutti_part_of all = tutti_nodes_piece(c, piece);
    const size_t part = tutti_nodes_part(c, all.count, c->nodes->hierarchy->rank).count;
    int status = tutti_host_memory_take(&c->local_area, all.count * c->size);
    if (status != TUTTI_OK)
        return status;
    local_open(c, all.count);
    c->local.out = c->local_area.memory;
    c->local.room = c->area[piece % TUTTI_AREAS].memory + part * c->size; /* `out` of the wire */
    c->local.pinned = c->local_area.bounce && c->area[piece % TUTTI_AREAS].bounce;
    char *to = NULL;
    const struct tutti_part_of wanted = tutti_nodes_wanted(c, c->nodes->hierarchy->ranks->rank, all, &to);
    c->job_piece = piece;
    c->local.to_first = wanted.begin - all.begin;
    c->local.to_count = wanted.count;
    status = tutti_nodes_end(c, TUTTI_PORT_IN, c->out_gpu, c->out_host, to, piece % TUTTI_AREAS, &c->local.to);
    return status == TUTTI_OK ? tutti_wire_build(&c->local, &scatter_row) : status;
}
