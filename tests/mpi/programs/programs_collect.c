/* Collective calls of random programs: contributions, the calls, what they must give. */
#include <string.h>

#include "programs.h"

enum { INT_MOST = 1000 };

static int is_reduction(const struct prog_coll *coll)
{
    return coll->kind >= PROG_REDUCE;
}

/* The name of what `from` sends to `to`, ranks of the communicator. */
static uint64_t name_of(const struct prog_coll *coll, int number, int from, int to)
{
    int all = coll->kind == PROG_BCAST || coll->kind == PROG_ALLGATHER || coll->kind == PROG_ALLGATHERV;
    return 1000000 + (uint64_t)number * 100 + (uint64_t)from * 10 + (uint64_t)(all ? 0 : to);
}

static uint64_t letter_of(int number, int letter)
{
    return 1000000 + (uint64_t)number * 100 + (uint64_t)letter;
}

static double value(const struct prog *p, int number, int from, size_t i)
{
    uint64_t word = random_mix(p->seed + p->number * 911 + (uint64_t)number * 1009 + (uint64_t)from * 17 + i * 8191);
    return (double)(word % (2 * INT_MOST)) - INT_MOST;
}

/* Of the places first..end - 1. */
static double reduce(const struct prog *p, int number, int first, int end, size_t i)
{
    double out = value(p, number, first, i);
    for (int q = first + 1; q < end; q++) {
        double next = value(p, number, q, i);
        int op = p->coll[number].op;
        out = op == 0 ? out + next : op == 1 ? (next > out ? next : out) : (next < out ? next : out);
    }
    return out;
}

/* Elements first.. of the result of places from..end - 1; of one alone it is the contribution. */
static void numbers(struct prog_run *run, int number, int from, int end, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double v = reduce(run->p, number, from, end, first + i);
        int whole = (int)v;
        if (run->p->coll[number].element == PROG_INT)
            memcpy(run->packed + i * sizeof whole, &whole, sizeof whole);
        else
            memcpy(run->packed + i * sizeof v, &v, sizeof v);
    }
}

static size_t elements(const struct prog_side *side, int block)
{
    return (size_t)side->count[block] * (size_t)side->layout.k;
}

static void put(struct prog_run *run, const struct prog_side *side, int block, uint64_t name)
{
    size_t n = elements(side, block);
    prog_fill(run->p, name, run->packed, n * prog_element_bytes[side->layout.element]);
    prog_data_expect(run, side, block, n, run->packed);
}

/* The place in the communicator; -1: not a member. */
static int place_in(const struct prog_run *run, const struct prog_coll *coll)
{
    return prog_rank_in(&run->p->comm[coll->comm], run->rank);
}

static int rooted(const struct prog_coll *coll)
{
    return coll->kind == PROG_GATHER || coll->kind == PROG_GATHERV || coll->kind == PROG_SCATTER ||
           coll->kind == PROG_SCATTERV || coll->kind == PROG_REDUCE;
}

/* This rank passes MPI_IN_PLACE. */
static int in_place(const struct prog_coll *coll, int me)
{
    return coll->in_place && coll->kind != PROG_BCAST && coll->kind != PROG_BARRIER &&
           (!rooted(coll) || me == coll->root);
}

void prog_coll_prepare(struct prog_run *run, int number)
{
    const struct prog_coll *coll = &run->p->coll[number];
    int me = place_in(run, coll);
    if (me < 0)
        return;
    const struct prog_side *out = &coll->side[me][0], *in = &coll->side[me][1];
    if (is_reduction(coll)) {
        const struct prog_side *side = out->used ? out : in;
        if (!side->used)
            return;
        numbers(run, number, me, me + 1, 0, elements(side, 0));
        prog_data_expect(run, side, 0, elements(side, 0), run->packed);
        return;
    }
    for (int b = 0; coll->lettered && out->used && b < out->blocks; b++)
        put(run, out, b, letter_of(number, coll->letter[me][0][b]));
    if (coll->kind == PROG_BCAST && me == coll->root && coll->lettered)
        put(run, in, 0, letter_of(number, coll->letter[me][1][0]));
    if (coll->lettered)
        return;
    if (coll->kind == PROG_BCAST && me == coll->root)
        put(run, in, 0, name_of(coll, number, me, 0));
    for (int b = 0; out->used && b < out->blocks; b++)
        put(run, out, b,
            name_of(coll, number, me, coll->kind == PROG_GATHER || coll->kind == PROG_GATHERV ? coll->root : b));
    if (!in_place(coll, me))
        return;
    if (coll->kind == PROG_GATHER || coll->kind == PROG_GATHERV || coll->kind == PROG_ALLGATHER ||
        coll->kind == PROG_ALLGATHERV)
        put(run, in, me, name_of(coll, number, me, me));
    for (int b = 0; (coll->kind == PROG_ALLTOALL || coll->kind == PROG_ALLTOALLV) && b < in->blocks; b++)
        put(run, in, b, name_of(coll, number, me, b));
}

static void refresh(struct prog_run *run, int number)
{
    const struct prog_coll *coll = &run->p->coll[number];
    const struct prog_side *side = coll->side[place_in(run, coll)];
    for (int i = 0; i < 2; i++) {
        if (side[i].used)
            prog_data_reset(run, &side[i]);
    }
    prog_coll_prepare(run, number);
    for (int i = 0; i < 2; i++) {
        if (side[i].used)
            prog_data_store(run, &side[i]);
    }
}

/* What a reduction of places *from..*end - 1 leaves on this rank; 0: nothing. */
static size_t result_of(const struct prog_run *run, const struct prog_coll *coll, int me, size_t *first, int *from,
                        int *end)
{
    const struct prog_comm *comm = &run->p->comm[coll->comm];
    int own;
    prog_inter_group(comm, me, 0, &own);
    *first = 0;
    *end = prog_inter_group(comm, me, comm->left > 0, from);
    *end += *from;
    if (coll->kind == PROG_REDUCE_SCATTER || coll->kind == PROG_REDUCE_SCATTER_BLOCK) {
        for (int q = own; q < me; q++)
            *first += (size_t)coll->counts[0][q];
        return (size_t)coll->counts[0][me];
    }
    if (coll->kind == PROG_SCAN)
        *end = me + 1;
    if (coll->kind == PROG_EXSCAN)
        *end = me;
    return *end ? elements(&coll->side[me][1], 0) : 0;
}

void prog_coll_arrived(struct prog_run *run, int number)
{
    const struct prog_coll *coll = &run->p->coll[number];
    int me = place_in(run, coll), root = me == coll->root, from, end;
    const struct prog_side *out = &coll->side[me][0], *in = &coll->side[me][1];
    if (is_reduction(coll) && in->used) {
        size_t first, n = result_of(run, coll, me, &first, &from, &end);
        if (in_place(coll, me) && n < elements(in, 0))
            prog_data_adopt(run, in); /* what lies behind the result is not defined */
        if (coll->kind == PROG_EXSCAN && me == 0)
            prog_data_adopt(run, in);
        numbers(run, number, from, end, first, n);
        prog_data_expect(run, in, 0, n, run->packed);
    } else if (coll->lettered) {
        for (int b = 0; in->used && b < in->blocks; b++) {
            if (coll->letter[me][1][b] >= 0)
                put(run, in, b, letter_of(number, coll->letter[me][1][b]));
        }
    } else if (in->used && !(coll->kind == PROG_BCAST && root)) {
        int from_root = coll->kind == PROG_BCAST || coll->kind == PROG_SCATTER || coll->kind == PROG_SCATTERV;
        for (int b = 0; b < in->blocks; b++)
            put(run, in, b,
                name_of(coll, number, from_root ? coll->root : b, rooted(coll) && !from_root ? coll->root : me));
    }
    prog_data_check(run, out, "what a collective sends");
    prog_data_check(run, in, "result of a collective");
}

/* counts in elements of the side's type, by rank. */
static void lists(struct prog_run *run, int number, int which, const struct prog_side *side)
{
    for (int b = 0; b < side->blocks; b++) {
        run->counts[number][2 * which][b] = side->count[b];
        run->counts[number][2 * which + 1][b] = side->displ[b];
    }
}

/* Of MPI_Neighbor_alltoallw: bytes, and types by block; every second block is one element of a type of its own. */
static void wide_lists(struct prog_run *run, int number, int which, const struct prog_side *side, MPI_Datatype type)
{
    for (int b = 0; b < side->blocks; b++) {
        int *count = &run->counts[number][2 * which][b];
        run->places[number][which][b] = (MPI_Aint)side->displ[b] * side->layout.extent;
        run->each[number][which][b] = type;
        if (b % 2 && *count > 0) {
            MPI_Type_contiguous(*count, type, &run->each[number][which][b]);
            MPI_Type_commit(&run->each[number][which][b]);
            run->types[run->type_count++] = run->each[number][which][b];
            *count = 1;
        }
    }
}

#define INIT(call, ...) call##_init(__VA_ARGS__ MPI_INFO_NULL, request)

void prog_coll_call(struct prog_run *run, int number, MPI_Request *request, int init)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
    const struct prog_coll *coll = &run->p->coll[number];
    const struct prog_comm *on = &run->p->comm[coll->comm];
    int me = place_in(run, coll), root = on->left ? prog_inter_root(on, coll, me) : coll->root, error = MPI_SUCCESS;
    const struct prog_side *out = &coll->side[me][0], *in = &coll->side[me][1];
    void *to = prog_address(run, in), *from = in_place(coll, me) ? MPI_IN_PLACE : prog_address(run, out);
    MPI_Datatype out_type = prog_type_of(run, out), in_type = prog_type_of(run, in);
    MPI_Comm comm = run->comm[coll->comm];
    lists(run, number, 0, out);
    lists(run, number, 1, in);
    if (coll->kind == PROG_NEIGHBOR_ALLTOALLW) {
        wide_lists(run, number, 0, out, out_type);
        wide_lists(run, number, 1, in, in_type);
    }
    MPI_Datatype *out_types = run->each[number][0], *in_types = run->each[number][1];
    MPI_Aint *out_places = run->places[number][0], *in_places = run->places[number][1];
    int *out_counts = run->counts[number][0], *out_displs = run->counts[number][1];
    int *in_counts = run->counts[number][2], *in_displs = run->counts[number][3];
    int outs = out->count[0], ins = in->count[0];
    if ((coll->kind == PROG_SCATTER || coll->kind == PROG_SCATTERV) && in_place(coll, me)) {
        from = prog_address(run, out);
        to = MPI_IN_PLACE;
    }
    MPI_Op op = ops[coll->op];
    if (init && coll->parts[0]) {
        error = prog_pcoll_init(run, number, from, to, out_type, in_type, request);
        prog_type_done(run);
        prog_check(run, error == MPI_SUCCESS, "error class %d", kit_class(error));
        return;
    }
    if (on->left && coll->kind == PROG_REDUCE && !out->used)
        from = run->arena[0]; /* which does not matter, but MPICH asks for an address */
    if (on->left && coll->kind == PROG_BCAST && !in->used && !run->p->kinds.may[PROG_nullroot]) {
        to = run->arena[0];
        ins = coll->counts[coll->root][0];
    }
#define CALL(blocking, later, ...)                                                                                     \
    error = init      ? INIT(blocking, __VA_ARGS__, comm, )                                                            \
            : request ? later(__VA_ARGS__, comm, request)                                                              \
                      : blocking(__VA_ARGS__, comm);                                                                   \
    break
    switch (coll->kind) {
    case PROG_BARRIER:
        error = init ? INIT(MPI_Barrier, comm, ) : request ? MPI_Ibarrier(comm, request) : MPI_Barrier(comm);
        break;
    case PROG_BCAST:
        CALL(MPI_Bcast, MPI_Ibcast, to, ins, in_type, root);
    case PROG_GATHER:
        CALL(MPI_Gather, MPI_Igather, from, outs, out_type, to, ins, in_type, root);
    case PROG_GATHERV:
        CALL(MPI_Gatherv, MPI_Igatherv, from, outs, out_type, to, in_counts, in_displs, in_type, root);
    case PROG_SCATTER:
        CALL(MPI_Scatter, MPI_Iscatter, from, outs, out_type, to, ins, in_type, root);
    case PROG_SCATTERV:
        CALL(MPI_Scatterv, MPI_Iscatterv, from, out_counts, out_displs, out_type, to, ins, in_type, root);
    case PROG_ALLGATHER:
        CALL(MPI_Allgather, MPI_Iallgather, from, outs, out_type, to, ins, in_type);
    case PROG_ALLGATHERV:
        CALL(MPI_Allgatherv, MPI_Iallgatherv, from, outs, out_type, to, in_counts, in_displs, in_type);
    case PROG_ALLTOALL:
        CALL(MPI_Alltoall, MPI_Ialltoall, from, outs, out_type, to, ins, in_type);
    case PROG_ALLTOALLV:
        CALL(MPI_Alltoallv, MPI_Ialltoallv, from, out_counts, out_displs, out_type, to, in_counts, in_displs, in_type);
    case PROG_NEIGHBOR_ALLGATHER:
        CALL(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, from, outs, out_type, to, ins, in_type);
    case PROG_NEIGHBOR_ALLGATHERV:
        CALL(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, from, outs, out_type, to, in_counts, in_displs,
             in_type);
    case PROG_NEIGHBOR_ALLTOALL:
        CALL(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, from, outs, out_type, to, ins, in_type);
    case PROG_NEIGHBOR_ALLTOALLV:
        CALL(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, from, out_counts, out_displs, out_type, to, in_counts,
             in_displs, in_type);
    case PROG_NEIGHBOR_ALLTOALLW:
        CALL(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, from, out_counts, out_places, out_types, to, in_counts,
             in_places, in_types);
    default:
        break;
    }
    MPI_Datatype type = coll->element == PROG_INT ? MPI_INT : MPI_DOUBLE;
    int n = coll->counts[0][coll->kind == PROG_REDUCE_SCATTER_BLOCK ? me : 0], own;
    int *each = run->counts[number][0], group = prog_inter_group(on, me, 0, &own);
    switch (coll->kind) {
    case PROG_REDUCE:
        CALL(MPI_Reduce, MPI_Ireduce, from, to, n, type, op, root);
    case PROG_ALLREDUCE:
        CALL(MPI_Allreduce, MPI_Iallreduce, from, to, n, type, op);
    case PROG_REDUCE_SCATTER:
        memcpy(each, &coll->counts[0][own], (size_t)group * sizeof *each);
        CALL(MPI_Reduce_scatter, MPI_Ireduce_scatter, from, to, each, type, op);
    case PROG_REDUCE_SCATTER_BLOCK:
        CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, from, to, n, type, op);
    case PROG_SCAN:
        CALL(MPI_Scan, MPI_Iscan, from, to, n, type, op);
    case PROG_EXSCAN:
        CALL(MPI_Exscan, MPI_Iexscan, from, to, n, type, op);
    default:
        break;
    }
#undef CALL
    prog_type_done(run);
    prog_check(run, error == MPI_SUCCESS, "error class %d", kit_class(error));
}

void prog_coll_begin(struct prog_run *run, int r)
{
    int number = run->p->req[r].end;
    const struct prog_coll *coll = &run->p->coll[number];
    if (!coll->persistent) {
        prog_coll_call(run, number, &run->req[r], 0);
        return;
    }
    refresh(run, number);
    int error = MPI_Start(&run->coll[coll->base]);
    prog_check(run, error == MPI_SUCCESS, "MPI_Start: error class %d", kit_class(error));
    if (coll->parts[0])
        prog_pcoll_mark(run, r, in_place(coll, place_in(run, coll)));
}
