/* Communicators of random programs: making and freeing them. */
#include <string.h>

#include "programs.h"

/* One of the ways that may be drawn, another one with a split: the members of each of several. */
static enum prog_origin choose_origin(struct prog_drawer *d)
{
    static const enum prog_kind kinds[] = {PROG_dup, PROG_split, PROG_idup, PROG_cart, PROG_graph, PROG_inter};
    int more = prog_may(d, PROG_cart) || prog_may(d, PROG_graph) || prog_may(d, PROG_inter);
    int way = prog_dice(d, more ? 6 : 3);
    return prog_may(d, kinds[way]) ? (enum prog_origin)(PROG_DUP + way) : PROG_WORLD;
}

static void draw_use(struct prog_drawer *d, struct prog_comm *comm)
{
    comm->wild = prog_dice(d, 4) == 0 && prog_may(d, PROG_anysource);
    comm->loose = !comm->wild && prog_chance(d, PROG_anytag, 50);
    comm->element = (enum prog_element)prog_dice(d, PROG_ELEMENTS);
}

/* What a duplication or a split gives. Returns the number of communicators. */
static int draw_parts(struct prog_drawer *d, enum prog_origin origin, int parent)
{
    struct prog *p = d->p;
    const struct prog_comm *from = &p->comm[parent];
    int split = origin == PROG_SPLIT, colors = split ? 1 + prog_dice(d, from->size) : 1, color[PROG_RANKS];
    for (int i = 0; i < from->size; i++)
        color[i] = split ? prog_dice(d, colors + 1) - (prog_dice(d, 2) != 0) : 0; /* some take no part */
    for (int k = 0; k < colors; k++) {
        struct prog_comm *comm = &p->comm[p->comms++];
        *comm = (struct prog_comm){.origin = origin, .parent = parent, .color = k, .topology = -1};
        if (!split) {
            comm->left = from->left;
            comm->topology = from->topology;
        }
        draw_use(d, comm);
        for (int i = 0; i < from->size; i++) {
            if (color[i] == k)
                comm->members[comm->size++] = from->members[i];
        }
        for (int i = comm->size - 1; i > 0 && split; i--) { /* keys: any order */
            int other = prog_dice(d, i + 1), member = comm->members[i];
            comm->members[i] = comm->members[other];
            comm->members[other] = member;
        }
        comm->ready = origin != PROG_IDUP && comm->size > 0;
        comm->freed = comm->size == 0;
    }
    return colors;
}

/* One communicator with neighbours or of two groups. */
static int draw_one(struct prog_drawer *d, enum prog_origin origin, int parent)
{
    struct prog *p = d->p;
    struct prog_comm *comm = &p->comm[p->comms];
    *comm = (struct prog_comm){.origin = origin, .parent = parent, .topology = -1};
    draw_use(d, comm);
    if (!(origin == PROG_CART    ? prog_cart_draw(d, comm)
          : origin == PROG_GRAPH ? prog_graph_draw(d, comm)
                                 : prog_inter_draw(d, comm)))
        return 0;
    comm->ready = 1;
    p->comms++;
    return 1;
}

static int has_collectives(const struct prog *p, int comm)
{
    for (int r = 0; r < p->reqs; r++) {
        if (p->req[r].type == PROG_COLLECTS && !p->req[r].done && p->coll[p->req[r].end].comm == comm)
            return 1;
    }
    return 0;
}

int prog_make(struct prog_drawer *d)
{
    struct prog *p = d->p;
    int parent = prog_collective_comm(d), first = p->comms;
    enum prog_origin origin = choose_origin(d);
    for (int i = 0; i < p->comms && !prog_may(d, PROG_idupmix); i++) {
        if (p->comm[i].origin == PROG_IDUP && !p->comm[i].ready && !p->comm[i].freed)
            return 0;
    }
    if (parent < 0 || origin == PROG_WORLD || p->comms + p->comm[parent].size > PROG_COMMS)
        return 0;
    const struct prog_comm *from = &p->comm[parent];
    if (from->left && origin != PROG_DUP && origin != PROG_IDUP)
        return 0;
    if (from->topology >= 0 && origin >= PROG_CART && !prog_may(d, PROG_above))
        return 0;
    if (from->left && has_collectives(p, parent) && !prog_may(d, PROG_interdup))
        return 0;
    int colors = origin >= PROG_CART ? draw_one(d, origin, parent) : draw_parts(d, origin, parent);
    if (origin == PROG_IDUP) {
        for (int i = 0; i < from->size; i++)
            p->comm[first].req[i] = -1;
        prog_catch_up(d, parent, from->members[0]);
        prog_begin_duplicate(d, first, from->members[0]);
        return 1;
    }
    if (colors == 0)
        return 0;
    prog_catch_up(d, parent, -1);
    for (int i = 0; i < from->size; i++) {
        struct prog_step *step = prog_add(d, from->members[i], PROG_MAKE, first, first);
        step->needed = colors;
        for (int k = 0; k < colors; k++) {
            if (prog_rank_in(&p->comm[first + k], from->members[i]) >= 0)
                step->a = first + k;
        }
        if (prog_rank_in(&p->comm[step->a], from->members[i]) < 0)
            step->a = -1;
    }
    return 1;
}

/* 1 if nothing would still be posted on the communicator, and nothing is open unless that may be. */
static int may_unmake(const struct prog_drawer *d, int comm)
{
    const struct prog *p = d->p;
    for (int e = 0; e < p->ends; e++) {
        if (p->end[e].comm == comm && p->end[e].persistent == 1)
            return 0;
    }
    for (int c = 0; c < p->colls; c++) {
        if (p->coll[c].comm == comm && p->coll[c].persistent == 1 && p->coll[c].base == c)
            return 0;
    }
    for (int g = 0; g < p->groups; g++) {
        if (p->group[g].comm == comm &&
            (p->group[g].sends < p->group[g].total || p->group[g].receives < p->group[g].total))
            return 0;
    }
    for (int c = 0; c < p->comms; c++) {
        if (p->comm[c].parent == comm && !p->comm[c].freed && !p->comm[c].ready)
            return 0;
    }
    for (int r = 0; r < p->reqs; r++) {
        const struct prog_req *req = &p->req[r];
        int on = req->type == PROG_COLLECTS     ? p->coll[req->end].comm
                 : req->type == PROG_DUPLICATES ? p->comm[req->end].parent
                                                : p->end[req->end].comm;
        if (on == comm && req->type == PROG_SENDS && req->partner < 0 && req->group < 0 &&
            p->end[req->end].peer != PROG_NULL)
            return 0;
        enum prog_kind asks = req->type > PROG_RECEIVES ? PROG_freecoll : PROG_freeopen;
        if (on == comm && !req->done && (!prog_may(d, asks) || !prog_completable(p, r)))
            return 0;
    }
    return 1;
}

int prog_unmake(struct prog_drawer *d, int comm)
{
    struct prog *p = d->p;
    if (comm <= 0 || p->comm[comm].freed || !p->comm[comm].ready)
        return 0;
    prog_catch_up(d, comm, -1);
    if (!may_unmake(d, comm))
        return 0;
    p->comm[comm].freed = 1;
    for (int i = 0; i < p->comm[comm].size; i++)
        prog_add(d, p->comm[comm].members[i], PROG_UNMAKE, comm, 0);
    return 1;
}

static int split(const struct prog_run *run, const struct prog_step *step, MPI_Comm parent, MPI_Comm *made)
{
    const struct prog_comm *mine = step->a < 0 ? NULL : &run->p->comm[step->a];
    return MPI_Comm_split(parent, mine ? mine->color : MPI_UNDEFINED, mine ? prog_rank_in(mine, run->rank) : 0, made);
}

void prog_comm_make(struct prog_run *run, const struct prog_step *step)
{
    static const char *const names[PROG_ORIGINS] = {"",
                                                    "MPI_Comm_dup",
                                                    "MPI_Comm_split",
                                                    "",
                                                    "MPI_Cart_create",
                                                    "MPI_Dist_graph_create_adjacent",
                                                    "MPI_Intercomm_create"};
    const struct prog_comm *comm = &run->p->comm[step->b];
    MPI_Comm parent = run->comm[comm->parent], made = MPI_COMM_NULL;
    int error = comm->origin == PROG_DUP     ? MPI_Comm_dup(parent, &made)
                : comm->origin == PROG_SPLIT ? split(run, step, parent, &made)
                : comm->origin == PROG_CART  ? prog_cart_make(run, comm, parent, &made)
                : comm->origin == PROG_GRAPH ? prog_graph_make(run, comm, parent, &made)
                                             : prog_inter_make(run, comm, parent, &made);
    prog_check(run, error == MPI_SUCCESS, "%s: error class %d", names[comm->origin], kit_class(error));
    prog_check(run, (step->a < 0) == (made == MPI_COMM_NULL), "%s: a communicator where none is due, or none",
               names[comm->origin]);
    if (step->a < 0 || made == MPI_COMM_NULL)
        return;
    run->comm[step->a] = made;
    comm = &run->p->comm[step->a];
    int rank = -1, size = -1, others = 0, place = prog_rank_in(comm, run->rank), first;
    MPI_Comm_rank(made, &rank);
    MPI_Comm_size(made, &size);
    if (comm->left)
        MPI_Comm_remote_size(made, &others);
    prog_check(run,
               rank == prog_rank_of(comm, place) && size == prog_inter_group(comm, place, 0, &first) &&
                   others == prog_inter_group(comm, place, 1, &first),
               "new communicator: rank %d of %d, and %d others", rank, size, others);
}
