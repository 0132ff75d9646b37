/* Intercommunicators in random programs, and the collective calls on them. Their members are those of the one group and
 * then those of the other one; what a collective call gives comes from the other group. */
#include <string.h>

#include "programs.h"

int prog_inter_group(const struct prog_comm *comm, int place, int other, int *first)
{
    int right = (place >= comm->left) != other;
    *first = right ? comm->left : 0;
    return right ? comm->size - comm->left : comm->left;
}

int prog_inter_draw(struct prog_drawer *d, struct prog_comm *comm)
{
    const struct prog_comm *from = &d->p->comm[comm->parent];
    if (from->size < 2)
        return 0;
    memcpy(comm->members, from->members, sizeof comm->members);
    for (int i = from->size - 1; i > 0; i--) {
        int other = prog_dice(d, i + 1), member = comm->members[i];
        comm->members[i] = comm->members[other];
        comm->members[other] = member;
    }
    comm->size = prog_dice(d, 3) ? from->size : 2 + prog_dice(d, from->size - 1); /* some take no part */
    comm->left = 1 + prog_dice(d, comm->size - 1);
    return 1;
}

/* The leaders meet on MPI_COMM_WORLD, which has no messages of programs. */
int prog_inter_make(struct prog_run *run, const struct prog_comm *comm, MPI_Comm parent, MPI_Comm *made)
{
    enum { TAG = 77 };
    int me = prog_rank_in(comm, run->rank), right = me >= comm->left;
    MPI_Comm half = MPI_COMM_NULL;
    int error = MPI_Comm_split(parent, me < 0 ? MPI_UNDEFINED : right, me, &half);
    if (error != MPI_SUCCESS || half == MPI_COMM_NULL)
        return error;
    error = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, comm->members[right ? 0 : comm->left], TAG, made);
    MPI_Comm_free(&half);
    return error;
}

/* ---- collective calls ---- */

static int is_reduction(enum prog_collective kind)
{
    return kind >= PROG_REDUCE;
}

int prog_inter_root(const struct prog_comm *comm, const struct prog_coll *coll, int me)
{
    if ((coll->root < comm->left) != (me < comm->left))
        return prog_rank_of(comm, coll->root);
    return me == coll->root ? MPI_ROOT : MPI_PROC_NULL;
}

/* Each group may have another number of elements, but in reductions. */
static void even_counts(struct prog_drawer *d, struct prog_coll *coll, const struct prog_comm *comm, int n, int other)
{
    (void)d;
    for (int from = 0; from < comm->size; from++) {
        for (int to = 0; to < comm->size; to++)
            coll->counts[from][to] = from < comm->left ? n : other;
    }
}

/* counts[0][i]: what place i gets. Both groups get as many together. */
static void scattered_counts(struct prog_drawer *d, struct prog_coll *coll, const struct prog_comm *comm, int n)
{
    int left = comm->left, right = comm->size - left, rest[2];
    n = coll->kind == PROG_REDUCE_SCATTER ? n : n / (left * right) * left * right;
    rest[0] = rest[1] = n;
    for (int i = 0; i < comm->size; i++) {
        int group = i >= left, last = i == left - 1 || i == comm->size - 1;
        int mine = coll->kind == PROG_REDUCE_SCATTER_BLOCK ? n / (group ? right : left)
                   : last                                  ? rest[group]
                                                           : prog_dice(d, rest[group] + 1);
        coll->counts[0][i] = mine;
        rest[group] -= mine;
    }
}

/* The letters of blocks: what goes to all has one. */
static void write_letters(struct prog_coll *coll, const struct prog_comm *comm)
{
    int all = coll->kind == PROG_BCAST || coll->kind == PROG_ALLGATHER || coll->kind == PROG_ALLGATHERV;
    int gather = coll->kind == PROG_GATHER || coll->kind == PROG_GATHERV;
    int scatter = coll->kind == PROG_SCATTER || coll->kind == PROG_SCATTERV;
    for (int me = 0; me < comm->size; me++) {
        int first, n = prog_inter_group(comm, me, 1, &first);
        for (int b = 0; b < n; b++) {
            int to = all ? 0 : gather ? coll->root : first + b;
            int from = coll->kind == PROG_BCAST || (scatter && me != coll->root) ? coll->root : first + b;
            coll->letter[me][0][b] = (signed char)(10 * me + to);
            coll->letter[me][1][b] = (signed char)(10 * from + (all ? 0 : me));
        }
    }
}

size_t prog_inter_counts(struct prog_drawer *d, struct prog_coll *coll)
{
    const struct prog_comm *comm = &d->p->comm[coll->comm];
    int n = (int)prog_draw_n(d, coll->element), unit = 1 + prog_dice(d, 3);
    coll->lettered = !is_reduction(coll->kind) && coll->kind != PROG_BARRIER;
    coll->in_place = 0;
    if (coll->lettered)
        write_letters(coll, comm);
    switch (coll->kind) {
    case PROG_GATHERV:
    case PROG_SCATTERV:
    case PROG_ALLGATHERV:
    case PROG_ALLTOALLV:
        n /= comm->size;
        for (int from = 0; from < comm->size; from++) {
            for (int to = 0; to < comm->size; to++)
                coll->counts[from][to] =
                    coll->kind == PROG_ALLGATHERV && to ? coll->counts[from][0] : unit * prog_dice(d, n / unit + 1);
        }
        return (size_t)unit;
    case PROG_REDUCE_SCATTER:
    case PROG_REDUCE_SCATTER_BLOCK:
        scattered_counts(d, coll, comm, n);
        return 1;
    case PROG_ALLGATHER:
    case PROG_ALLTOALL:
        n = n / comm->size / unit; /* in units, as the groups' numbers differ */
        even_counts(d, coll, comm, n * unit, prog_dice(d, 3) ? prog_dice(d, n + 1) * unit : 0);
        return (size_t)unit;
    default:
        n = coll->kind == PROG_GATHER || coll->kind == PROG_SCATTER ? n / comm->size : n;
        even_counts(d, coll, comm, n, n);
        return (size_t)n;
    }
}

int prog_inter_place(struct prog_drawer *d, struct prog_coll *coll, size_t unit, int me)
{
    struct prog_comm *comm = &d->p->comm[coll->comm];
    struct prog_side *out = &coll->side[me][0], *in = &coll->side[me][1];
    int rank = comm->members[me], root = me == coll->root, far = (me < comm->left) != (coll->root < comm->left);
    int first, own, n = prog_inter_group(comm, me, 1, &first), mine = prog_inter_group(comm, me, 0, &own);
    int column[PROG_RANKS], total = 0;
    *out = *in = (struct prog_side){.used = 0};
    for (int b = 0; b < n; b++)
        column[b] = coll->counts[first + b][me];
    for (int i = 0; i < mine; i++)
        total += coll->counts[0][own + i];
    const int *row = &coll->counts[me][first];
    switch (coll->kind) {
    case PROG_BARRIER:
        return 1;
    case PROG_BCAST:
        return !(root || far) || prog_place_blocks(d, rank, in, coll, &coll->counts[coll->root][0], 1, unit, 0);
    case PROG_GATHER:
    case PROG_GATHERV:
        return (!far || prog_place_blocks(d, rank, out, coll, &coll->counts[me][coll->root], 1, unit, 0)) &&
               (!root || prog_place_blocks(d, rank, in, coll, column, n, unit, coll->kind == PROG_GATHERV));
    case PROG_SCATTER:
    case PROG_SCATTERV:
        return (!root || prog_place_blocks(d, rank, out, coll, row, n, unit, coll->kind == PROG_SCATTERV)) &&
               (!far || prog_place_blocks(d, rank, in, coll, &coll->counts[coll->root][me], 1, unit, 0));
    case PROG_ALLGATHER:
    case PROG_ALLGATHERV:
        return prog_place_blocks(d, rank, out, coll, row, 1, unit, 0) &&
               prog_place_blocks(d, rank, in, coll, column, n, unit, coll->kind == PROG_ALLGATHERV);
    case PROG_ALLTOALL:
    case PROG_ALLTOALLV:
        return prog_place_blocks(d, rank, out, coll, row, n, unit, coll->kind == PROG_ALLTOALLV) &&
               prog_place_blocks(d, rank, in, coll, column, n, unit, coll->kind == PROG_ALLTOALLV);
    case PROG_REDUCE_SCATTER:
    case PROG_REDUCE_SCATTER_BLOCK:
        return prog_place_blocks(d, rank, out, coll, &total, 1, unit, 0) &&
               prog_place_blocks(d, rank, in, coll, &coll->counts[0][me], 1, unit, 0);
    case PROG_REDUCE:
        return (!far || prog_place_blocks(d, rank, out, coll, row, 1, unit, 0)) &&
               (!root || prog_place_blocks(d, rank, in, coll, row, 1, unit, 0));
    default:
        return prog_place_blocks(d, rank, out, coll, row, 1, unit, 0) &&
               prog_place_blocks(d, rank, in, coll, row, 1, unit, 0);
    }
}
