/* Communicators with neighbours in random programs, grids and directed graphs, and the collective calls on them. */
#include <string.h>

#include "programs.h"

int prog_is_neighbor(enum prog_collective kind)
{
    return kind >= PROG_NEIGHBOR_ALLGATHER && kind <= PROG_NEIGHBOR_ALLTOALLW;
}

/* ---- topologies ---- */

static int is_twice(const int *places, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) {
            if (places[i] >= 0 && places[i] == places[k])
                return 1;
        }
    }
    return 0;
}

static int add(struct prog_drawer *d, struct prog_comm *comm, const struct prog_topology *topology)
{
    struct prog *p = d->p;
    comm->topology = p->topologies;
    p->topology[p->topologies++] = *topology;
    for (int i = 0; i < comm->size; i++) {
        struct prog_topology *it = &p->topology[comm->topology];
        it->twice |= is_twice(it->from[i], it->ins[i]) || is_twice(it->to[i], it->outs[i]);
        for (int b = 0; b < it->ins[i]; b++)
            it->itself |= it->from[i][b] == i;
    }
    return 1;
}

/* The place next to another one in a dimension; -1: behind the edge. */
static int beside(const struct prog_topology *grid, int place, int dim, int step)
{
    int behind = 1; /* ranks between two that are neighbours in this dimension */
    for (int k = dim + 1; k < grid->dims; k++)
        behind *= grid->dim[k];
    const int n = grid->dim[dim], at = place / behind % n, to = at + step;
    if (!grid->periods[dim] && (to < 0 || to >= n))
        return -1;
    return place + ((to + n) % n - at) * behind;
}

/* A grid of the first ranks; the others take no part. */
int prog_cart_draw(struct prog_drawer *d, struct prog_comm *comm)
{
    const struct prog_comm *from = &d->p->comm[comm->parent];
    struct prog_topology grid = {.dims = 1 + prog_dice(d, PROG_DIMS)};
    int fewer = prog_dice(d, 4) == 0;
    comm->size = 1;
    for (int k = 0; k < grid.dims; k++) { /* the last one takes all that are left, or fewer */
        const int left = from->size / comm->size;
        grid.dim[k] = fewer || k + 1 < grid.dims ? 1 + prog_dice(d, left) : left;
        comm->size *= grid.dim[k];
    }
    memcpy(comm->members, from->members, sizeof comm->members);
    for (int k = 0; k < grid.dims; k++)
        grid.periods[k] = prog_dice(d, 2);
    for (int i = 0; i < comm->size; i++) {
        grid.ins[i] = grid.outs[i] = 2 * grid.dims;
        for (int b = 0; b < grid.ins[i]; b++) { /* what leaves upwards arrives from below */
            grid.from[i][b] = grid.to[i][b] = beside(&grid, i, b / 2, b % 2 ? 1 : -1);
            grid.edge[i][b] = b ^ 1;
        }
    }
    return add(d, comm, &grid);
}

/* Of edges between the same two the n-th that leaves is the n-th that arrives. */
static void match(struct prog_topology *graph, int place, int block)
{
    int from = graph->from[place][block], before = 0;
    for (int b = 0; b < block; b++)
        before += graph->from[place][b] == from;
    for (int b = 0; b < graph->outs[from]; b++) {
        if (graph->to[from][b] == place && before-- == 0)
            graph->edge[place][block] = b;
    }
}

/* Any edges, of a rank to itself too, and several between the same two. */
int prog_graph_draw(struct prog_drawer *d, struct prog_comm *comm)
{
    const struct prog_comm *from = &d->p->comm[comm->parent];
    struct prog_topology graph = {.weighted = prog_dice(d, 2)};
    comm->size = from->size;
    memcpy(comm->members, from->members, sizeof comm->members);
    int edges = prog_dice(d, 3 * from->size + 1), again = prog_dice(d, 2);
    for (int e = 0; e < edges; e++) {
        int a = prog_dice(d, from->size), b = prog_dice(d, from->size), there = 0;
        for (int i = 0; i < graph.outs[a]; i++)
            there |= graph.to[a][i] == b;
        if ((there && !again) || graph.outs[a] == PROG_RANKS || graph.ins[b] == PROG_RANKS)
            continue;
        graph.to[a][graph.outs[a]++] = b;
        /* the lists are in any order */
        int at = prog_dice(d, ++graph.ins[b]);
        memmove(&graph.from[b][at + 1], &graph.from[b][at], (size_t)(graph.ins[b] - 1 - at) * sizeof(int));
        graph.from[b][at] = a;
    }
    for (int i = 0; i < comm->size; i++) {
        for (int b = 0; b < graph.ins[i]; b++)
            match(&graph, i, b);
    }
    return add(d, comm, &graph);
}

int prog_cart_make(struct prog_run *run, const struct prog_comm *comm, MPI_Comm parent, MPI_Comm *made)
{
    const struct prog_topology *grid = &run->p->topology[comm->topology];
    int me = prog_rank_in(comm, run->rank),
        error = MPI_Cart_create(parent, grid->dims, grid->dim, grid->periods, 0, made);
    for (int k = 0; me >= 0 && *made != MPI_COMM_NULL && k < grid->dims; k++) {
        int below = -77, above = -77;
        MPI_Cart_shift(*made, k, 1, &below, &above);
        int wanted[2] = {grid->from[me][2 * k], grid->from[me][2 * k + 1]};
        prog_check(run,
                   below == (wanted[0] < 0 ? MPI_PROC_NULL : wanted[0]) &&
                       above == (wanted[1] < 0 ? MPI_PROC_NULL : wanted[1]),
                   "MPI_Cart_shift: %d and %d, not %d and %d", below, above, wanted[0], wanted[1]);
    }
    return error;
}

int prog_graph_make(struct prog_run *run, const struct prog_comm *comm, MPI_Comm parent, MPI_Comm *made)
{
    const struct prog_topology *graph = &run->p->topology[comm->topology];
    int me = prog_rank_in(comm, run->rank);
    static const int weights[PROG_RANKS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int *weighted = graph->weighted ? weights : MPI_UNWEIGHTED;
    return MPI_Dist_graph_create_adjacent(parent, graph->ins[me], graph->from[me], weighted, graph->outs[me],
                                          graph->to[me], weighted, MPI_INFO_NULL, 0, made);
}

/* ---- calls ---- */

int prog_neighbor_kind(struct prog_drawer *d, const struct prog_comm *comm)
{
    if (comm->topology < 0 || !prog_chance(d, PROG_neighbor, 60))
        return -1;
    const struct prog_topology *topology = &d->p->topology[comm->topology];
    if (topology->itself && (comm->loose || comm->wild) && !prog_may(d, PROG_selfall))
        return -1;
    int twice = topology->twice && !prog_may(d, PROG_twice);
    return PROG_NEIGHBOR_ALLGATHER + prog_dice(d, twice ? 2 : prog_may(d, PROG_neighborw) ? 5 : 4);
}

size_t prog_neighbor_counts(struct prog_drawer *d, struct prog_coll *coll)
{
    const struct prog_comm *comm = &d->p->comm[coll->comm];
    const struct prog_topology *topology = &d->p->topology[comm->topology];
    int one = coll->kind <= PROG_NEIGHBOR_ALLGATHERV, unit = 1 + prog_dice(d, 3);
    int varies = coll->kind != PROG_NEIGHBOR_ALLGATHER && coll->kind != PROG_NEIGHBOR_ALLTOALL;
    int n = (int)prog_draw_n(d, coll->element) / 3;
    coll->lettered = 1;
    for (int i = 0; i < comm->size; i++) {
        for (int b = 0; b < PROG_RANKS; b++)
            coll->counts[i][b] = one && b ? coll->counts[i][0] : varies ? unit * prog_dice(d, n / unit + 1) : n;
    }
    for (int i = 0; i < comm->size; i++) {
        for (int b = 0; b < PROG_RANKS; b++)
            coll->letter[i][0][b] = (signed char)(10 * i + b);
        for (int b = 0; b < topology->ins[i]; b++) {
            int from = topology->from[i][b];
            coll->letter[i][1][b] = (signed char)(from < 0 ? -1 : 10 * from + (one ? 0 : topology->edge[i][b]));
        }
    }
    return varies ? (size_t)unit : (size_t)n;
}

int prog_neighbor_place(struct prog_drawer *d, struct prog_coll *coll, size_t unit, int me)
{
    const struct prog_comm *comm = &d->p->comm[coll->comm];
    const struct prog_topology *topology = &d->p->topology[comm->topology];
    int one = coll->kind <= PROG_NEIGHBOR_ALLGATHERV, ins = topology->ins[me], outs = one ? 1 : topology->outs[me];
    int varies = coll->kind != PROG_NEIGHBOR_ALLGATHER && coll->kind != PROG_NEIGHBOR_ALLTOALL;
    struct prog_side *side = coll->side[me];
    int n[PROG_RANKS];
    for (int b = 0; b < ins; b++) {
        int from = topology->from[me][b];
        n[b] = coll->counts[from < 0 ? me : from][from < 0 || one ? 0 : topology->edge[me][b]];
    }
    if (!prog_place_blocks(d, comm->members[me], &side[0], coll, coll->counts[me], outs, unit, varies && !one) ||
        !prog_place_blocks(d, comm->members[me], &side[1], coll, n, ins, unit, varies))
        return 0;
    for (int i = 0; i < 2 && !varies; i++) /* even where there is nobody: all give as many */
        side[i].count[0] = coll->counts[0][0] / side[i].layout.k;
    return 1;
}
