/* Collective calls of random programs. Ranks start nonblocking ones at different steps, all those of a communicator in
 * one order. */
#include <string.h>

#include "programs.h"

/* The first collective of the communicator that the rank has not started though others have; its number, or -1. */
static int behind(const struct prog *p, int comm, int rank, int *duplicate)
{
    int place = prog_rank_in(&p->comm[comm], rank);
    *duplicate = -1;
    if (place < 0)
        return -1;
    /* requests are numbered in the order of starting: the oldest start of any rank says which comes first */
    for (int r = 0; r < p->reqs; r++) {
        const struct prog_req *req = &p->req[r];
        if (req->type == PROG_COLLECTS && p->coll[req->end].comm == comm && p->coll[req->end].req[place] < 0)
            return req->end;
        if (req->type == PROG_DUPLICATES && p->comm[req->end].parent == comm && p->comm[req->end].req[place] < 0) {
            *duplicate = req->end;
            return -1;
        }
    }
    return -1;
}

static void begin(struct prog_drawer *d, int coll, int rank)
{
    struct prog *p = d->p;
    struct prog_coll *it = &p->coll[coll];
    int r = prog_new_req(d, PROG_COLLECTS, rank, coll);
    it->req[prog_rank_in(&p->comm[it->comm], rank)] = r;
    prog_add(d, rank, PROG_BEGIN, r, 0);
}

void prog_begin_duplicate(struct prog_drawer *d, int comm, int rank)
{
    struct prog *p = d->p;
    int r = prog_new_req(d, PROG_DUPLICATES, rank, comm);
    p->comm[comm].req[prog_rank_in(&p->comm[comm], rank)] = r;
    prog_add(d, rank, PROG_MAKE_LATER, r, 0);
}

static int catch_up_one(struct prog_drawer *d, int comm, int rank)
{
    int duplicate, coll = behind(d->p, comm, rank, &duplicate);
    if (coll >= 0)
        begin(d, coll, rank);
    else if (duplicate >= 0)
        prog_begin_duplicate(d, duplicate, rank);
    return coll >= 0 || duplicate >= 0;
}

void prog_catch_up(struct prog_drawer *d, int comm, int rank)
{
    for (int r = 0; r < d->p->ranks; r++) {
        while ((rank < 0 || r == rank) && catch_up_one(d, comm, r)) {
        }
    }
}

int prog_catch_up_any(struct prog_drawer *d)
{
    struct prog *p = d->p;
    int first = prog_dice(d, p->comms * p->ranks);
    for (int i = 0; i < p->comms * p->ranks; i++) {
        int at = (first + i) % (p->comms * p->ranks);
        if (catch_up_one(d, at / p->ranks, at % p->ranks))
            return 1;
    }
    return 0;
}

static int choose_kind(struct prog_drawer *d)
{
    static const struct {
        enum prog_kind kind;
        enum prog_collective plain, other;
        enum prog_kind asks; /* for the other one */
    } all[] = {{PROG_barrier, PROG_BARRIER, PROG_BARRIER, PROG_barrier},
               {PROG_bcast, PROG_BCAST, PROG_BCAST, PROG_bcast},
               {PROG_gather, PROG_GATHER, PROG_GATHERV, PROG_vector},
               {PROG_scatter, PROG_SCATTER, PROG_SCATTERV, PROG_vector},
               {PROG_allgather, PROG_ALLGATHER, PROG_ALLGATHERV, PROG_vector},
               {PROG_alltoall, PROG_ALLTOALL, PROG_ALLTOALLV, PROG_vector},
               {PROG_reduce, PROG_REDUCE, PROG_REDUCE, PROG_reduce},
               {PROG_allreduce, PROG_ALLREDUCE, PROG_ALLREDUCE, PROG_allreduce},
               {PROG_redscat, PROG_REDUCE_SCATTER, PROG_REDUCE_SCATTER_BLOCK, PROG_redscat},
               {PROG_scan, PROG_SCAN, PROG_EXSCAN, PROG_scan}};
    enum { N = sizeof all / sizeof *all };
    for (int i = 0, k = prog_dice(d, N); i < N; i++, k = (k + 1) % N) {
        if (prog_may(d, all[k].kind))
            return (int)(prog_chance(d, all[k].asks, 50) ? all[k].other : all[k].plain);
    }
    return -1;
}

static int is_reduction(enum prog_collective kind)
{
    return kind >= PROG_REDUCE;
}

/* Elements from each rank to each; what goes to or from the root alone is in its row or column. */
static size_t draw_counts(struct prog_drawer *d, struct prog_coll *coll, int size)
{
    size_t n = prog_draw_n(d, coll->element);
    int varies = coll->kind == PROG_GATHERV || coll->kind == PROG_SCATTERV || coll->kind == PROG_ALLGATHERV ||
                 coll->kind == PROG_ALLTOALLV || coll->kind == PROG_REDUCE_SCATTER;
    int unit = 1 + prog_dice(d, 3);
    if (coll->kind != PROG_BCAST && (!is_reduction(coll->kind) || varies || coll->kind == PROG_REDUCE_SCATTER_BLOCK))
        n /= (size_t)size;
    for (int from = 0; from < size; from++) {
        for (int to = 0; to < size; to++)
            coll->counts[from][to] = varies ? unit * prog_dice(d, (int)n / unit + 1) : (int)n;
    }
    for (int from = 0; from < size; from++) { /* what all get from one is the same; in place both ways are */
        for (int to = 0; to < size; to++) {
            if (coll->kind == PROG_ALLGATHERV)
                coll->counts[from][to] = coll->counts[from][0];
            if (coll->kind == PROG_REDUCE_SCATTER)
                coll->counts[from][to] = coll->counts[0][to];
            if (coll->kind == PROG_ALLTOALLV && coll->in_place && from > to)
                coll->counts[from][to] = coll->counts[to][from];
        }
    }
    return varies ? (size_t)unit : n;
}

int prog_place_blocks(struct prog_drawer *d, int rank, struct prog_side *side, const struct prog_coll *coll,
                      const int *n, int blocks, size_t unit, int gaps)
{
    *side = (struct prog_side){.blocks = blocks};
    prog_layout_draw(d, &side->layout, coll->element, is_reduction(coll->kind) ? 0 : unit,
                     is_reduction(coll->kind) ? 0 : coll->k);
    for (int b = 0, at = 0; b < blocks; b++) {
        side->count[b] = n[b] / side->layout.k;
        side->displ[b] = at;
        at += side->count[b] + (gaps ? prog_dice(d, 3) : 0);
    }
    side->bottom = !is_reduction(coll->kind) && prog_chance(d, PROG_bottom, 25);
    return prog_side_place(d, rank, side);
}

static int place(struct prog_drawer *d, struct prog_coll *coll, size_t unit, int me)
{
    struct prog_comm *comm = &d->p->comm[coll->comm];
    struct prog_side *out = &coll->side[me][0], *in = &coll->side[me][1];
    int size = comm->size, rank = comm->members[me], root = me == coll->root, column[PROG_RANKS], total = 0;
    int mine = coll->in_place &&
               (root || (coll->kind != PROG_GATHER && coll->kind != PROG_GATHERV && coll->kind != PROG_SCATTER &&
                         coll->kind != PROG_SCATTERV && coll->kind != PROG_REDUCE));
    *out = *in = (struct prog_side){.used = 0};
    for (int q = 0; q < size; q++) {
        column[q] = coll->counts[q][me];
        total += coll->counts[0][q];
    }
    const int *row = coll->counts[me];
    switch (coll->kind) {
    case PROG_BARRIER:
        return 1;
    case PROG_BCAST:
        return prog_place_blocks(d, rank, in, coll, row, 1, unit, 0);
    case PROG_GATHER:
    case PROG_GATHERV:
        return (mine || prog_place_blocks(d, rank, out, coll, &row[coll->root], 1, unit, 0)) &&
               (!root || prog_place_blocks(d, rank, in, coll, column, size, unit, coll->kind == PROG_GATHERV));
    case PROG_SCATTER:
    case PROG_SCATTERV:
        return (!root || prog_place_blocks(d, rank, out, coll, row, size, unit, coll->kind == PROG_SCATTERV)) &&
               (mine || prog_place_blocks(d, rank, in, coll, &column[coll->root], 1, unit, 0));
    case PROG_ALLGATHER:
    case PROG_ALLGATHERV:
        return (mine || prog_place_blocks(d, rank, out, coll, row, 1, unit, 0)) &&
               prog_place_blocks(d, rank, in, coll, column, size, unit, coll->kind == PROG_ALLGATHERV);
    case PROG_ALLTOALL:
    case PROG_ALLTOALLV:
        return (mine || prog_place_blocks(d, rank, out, coll, row, size, unit, coll->kind == PROG_ALLTOALLV)) &&
               prog_place_blocks(d, rank, in, coll, column, size, unit, coll->kind == PROG_ALLTOALLV);
    case PROG_REDUCE_SCATTER:
    case PROG_REDUCE_SCATTER_BLOCK:
        return (mine || prog_place_blocks(d, rank, out, coll, &total, 1, unit, 0)) &&
               prog_place_blocks(d, rank, in, coll, mine ? &total : &row[me], 1, unit, 0);
    default:
        return (mine || prog_place_blocks(d, rank, out, coll, row, 1, unit, 0)) &&
               (coll->kind == PROG_REDUCE && !root ? 1 : prog_place_blocks(d, rank, in, coll, row, 1, unit, 0));
    }
}

/* After these every member knows what the others had done before, between groups those of the other group. */
static void meet(struct prog_drawer *d, const struct prog_comm *comm)
{
    int known[PROG_RANKS][PROG_RANKS];
    memcpy(known, d->clock, sizeof known);
    for (int i = 0; i < comm->size; i++) {
        int here[PROG_RANKS] = {0}, first, n = prog_inter_group(comm, i, comm->left > 0, &first);
        for (int k = first; k < first + n; k++) {
            for (int r = 0; r < d->p->ranks; r++) {
                /* not the call itself, which may not have returned */
                int clock = known[comm->members[k]][r] - (r == comm->members[k] && k != i);
                here[r] = clock > here[r] ? clock : here[r];
            }
        }
        prog_learn(d, comm->members[i], here);
    }
}

/* Not one that is being duplicated: Open MPI mixes the calls up (idupmix). */
int prog_collective_comm(struct prog_drawer *d)
{
    int c = prog_any_comm(d, -1);
    for (int i = 0; c >= 0 && !prog_may(d, PROG_idupmix) && i < d->p->comms; i++) {
        const struct prog_comm *comm = &d->p->comm[i];
        if (comm->origin == PROG_IDUP && comm->parent == c && !comm->ready && !comm->freed)
            return -1;
    }
    return c;
}

/* A persistent request of the communicator that is not active on any rank; -1: none. */
static int idle(const struct prog_drawer *d, int comm)
{
    const struct prog *p = d->p;
    for (int c = 0; c < p->colls; c++) {
        int active = 0;
        if (p->coll[c].persistent != 1 || p->coll[c].base != c || p->coll[c].comm != comm)
            continue;
        for (int s = c + 1; s < p->colls; s++) {
            for (int i = 0; p->coll[s].persistent && p->coll[s].base == c && i < p->comm[comm].size; i++)
                active |= p->coll[s].req[i] < 0 || !p->req[p->coll[s].req[i]].done;
        }
        if (!active)
            return c;
    }
    return -1;
}

/* Some rank starts it; the others later. */
static void begin_first(struct prog_drawer *d, int number)
{
    const struct prog_comm *comm = &d->p->comm[d->p->coll[number].comm];
    int first = comm->members[prog_dice(d, comm->size)];
    prog_catch_up(d, d->p->coll[number].comm, first);
    begin(d, number, first);
    while (prog_chance(d, PROG_skew, 60) == 0 && prog_catch_up_any(d)) {
    }
}

/* Starts a persistent collective again. */
static int start_again(struct prog_drawer *d, int c)
{
    struct prog *p = d->p;
    int base = (prog_may(d, PROG_pcoll) || prog_may(d, PROG_ppcoll)) && prog_dice(d, 2) ? idle(d, c) : -1;
    if (base < 0)
        return 0;
    int number = p->colls++;
    p->coll[number] = p->coll[base];
    for (int i = 0; i < p->comm[c].size; i++)
        p->coll[number].req[i] = -1;
    begin_first(d, number);
    return 1;
}

int prog_leave(struct prog_drawer *d)
{
    struct prog *p = d->p;
    for (int c = 0; c < p->colls; c++) {
        if (p->coll[c].persistent != 1 || p->coll[c].base != c)
            continue;
        p->coll[c].persistent = 2;
        for (int i = 0; i < p->comm[p->coll[c].comm].size; i++)
            prog_add(d, p->comm[p->coll[c].comm].members[i], PROG_LEAVE, c, 0);
        return 1;
    }
    return 0;
}

int prog_collective(struct prog_drawer *d)
{
    struct prog *p = d->p;
    int c = prog_collective_comm(d), with = c < 0 ? -1 : prog_neighbor_kind(d, &d->p->comm[c]);
    int kind = with >= 0 ? with : choose_kind(d);
    int later = prog_may(d, PROG_icoll) && (!prog_may(d, PROG_blocking) || prog_dice(d, 2));
    if (c < 0 || kind < 0 || p->colls == PROG_COLLS || (!later && !prog_may(d, PROG_blocking)))
        return 0;
    struct prog_comm *comm = &p->comm[c];
    if (comm->left && kind >= PROG_SCAN) /* there is none */
        return 0;
    if (comm->size == 1 && kind >= PROG_ALLTOALL && kind <= PROG_ALLTOALLV && !prog_may(d, PROG_selfall))
        return 0;
    if (later && start_again(d, c))
        return 1;
    struct prog_coll *coll = &p->coll[p->colls];
    memset(coll, 0, sizeof *coll);
    coll->kind = (enum prog_collective)kind;
    coll->comm = c;
    coll->root = prog_dice(d, comm->size);
    coll->in_place = prog_chance(d, PROG_inplace, 25);
    coll->op = prog_dice(d, 3);
    coll->element =
        (enum prog_element)(is_reduction(coll->kind) ? PROG_INT + prog_dice(d, 2) : prog_dice(d, PROG_ELEMENTS));
    int neighbor = prog_is_neighbor(coll->kind);
    if (neighbor)
        coll->in_place = 0;
    size_t unit = neighbor     ? prog_neighbor_counts(d, coll)
                  : comm->left ? prog_inter_counts(d, coll)
                               : draw_counts(d, coll, comm->size);
    struct prog_layout like;
    prog_layout_draw(d, &like, coll->element, unit, 0);
    if (coll->kind == PROG_REDUCE && unit * prog_element_bytes[coll->element] > 2000 && !prog_may(d, PROG_oddplace))
        coll->in_place = 0;
    int alltoall = coll->kind == PROG_ALLTOALL || coll->kind == PROG_ALLTOALLV;
    if (alltoall && (comm->size == 1 || (later && coll->kind == PROG_ALLTOALLV)) && !prog_may(d, PROG_oddplace))
        coll->in_place = 0;
    coll->k = prog_chance(d, PROG_mixed, 50) ? 0 : like.k;
    for (int i = 0; i < comm->size; i++) {
        coll->req[i] = -1;
        if (!(neighbor     ? prog_neighbor_place(d, coll, unit, i)
              : comm->left ? prog_inter_place(d, coll, unit, i)
                           : place(d, coll, unit, i)))
            return 0;
    }
    int number = p->colls++;
    coll->persistent = later && prog_chance(d, PROG_pcoll, 40);
    coll->base = number;
    if (later && !coll->persistent)
        prog_pcoll_draw(d, coll);
    if (later && !coll->persistent) {
        begin_first(d, number);
        return 1;
    }
    prog_catch_up(d, c, -1);
    for (int i = 0; coll->persistent && i < comm->size; i++)
        prog_add(d, comm->members[i], PROG_SETUP, number, 0);
    if (coll->persistent)
        return 1;
    for (int i = 0; i < comm->size; i++)
        prog_add(d, comm->members[i], PROG_COLLECTIVE, number, 0);
    if (coll->kind == PROG_BARRIER)
        meet(d, comm);
    return 1;
}
