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

static double value(const struct prog *p, int number, int from, size_t i)
{
    uint64_t word = random_mix(p->seed + p->number * 911 + (uint64_t)number * 1009 + (uint64_t)from * 17 + i * 8191);
    return (double)(word % (2 * INT_MOST)) - INT_MOST;
}

static double reduce(const struct prog *p, int number, int ranks, size_t i)
{
    double out = value(p, number, 0, i);
    for (int q = 1; q < ranks; q++) {
        double next = value(p, number, q, i);
        int op = p->coll[number].op;
        out = op == 0 ? out + next : op == 1 ? (next > out ? next : out) : (next < out ? next : out);
    }
    return out;
}

/* Elements first.. of a contribution (ranks < 0: of -ranks - 1) or of the result of the first `ranks` ranks. */
static void numbers(struct prog_run *run, int number, int ranks, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double v = ranks < 0 ? value(run->p, number, -ranks - 1, first + i) : reduce(run->p, number, ranks, first + i);
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

/* The rank in the communicator; -1: not a member. */
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
        numbers(run, number, -me - 1, 0, elements(side, 0));
        prog_data_expect(run, side, 0, elements(side, 0), run->packed);
        return;
    }
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

/* What a reduction leaves on this rank; 0: nothing. */
static size_t result_of(const struct prog_run *run, const struct prog_coll *coll, int me, size_t *first, int *ranks)
{
    const struct prog_side *in = &coll->side[me][1];
    *first = 0;
    *ranks = run->p->comm[coll->comm].size;
    if (coll->kind == PROG_REDUCE_SCATTER || coll->kind == PROG_REDUCE_SCATTER_BLOCK) {
        for (int q = 0; q < me; q++)
            *first += (size_t)coll->counts[0][q];
        return (size_t)coll->counts[0][me];
    }
    if (coll->kind == PROG_SCAN)
        *ranks = me + 1;
    if (coll->kind == PROG_EXSCAN)
        *ranks = me;
    return *ranks ? elements(in, 0) : 0;
}

void prog_coll_arrived(struct prog_run *run, int number)
{
    const struct prog_coll *coll = &run->p->coll[number];
    int me = place_in(run, coll), root = me == coll->root, ranks;
    const struct prog_side *out = &coll->side[me][0], *in = &coll->side[me][1];
    if (is_reduction(coll) && in->used) {
        size_t first, n = result_of(run, coll, me, &first, &ranks);
        if (in_place(coll, me) && n < elements(in, 0))
            prog_data_adopt(run, in); /* what lies behind the result is not defined */
        if (coll->kind == PROG_EXSCAN && me == 0)
            prog_data_adopt(run, in);
        numbers(run, number, ranks, first, ranks ? n : 0);
        prog_data_expect(run, in, 0, n, run->packed);
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

#if PROG_HAS_PERSISTENT
#define INIT(call, ...) call##_init(__VA_ARGS__ MPI_INFO_NULL, request)
#else /* not to be drawn there */
#define INIT(call, ...) MPI_ERR_OTHER
#endif

void prog_coll_call(struct prog_run *run, int number, MPI_Request *request, int init)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
    const struct prog_coll *coll = &run->p->coll[number];
    int me = place_in(run, coll), root = coll->root, error = MPI_SUCCESS;
    const struct prog_side *out = &coll->side[me][0], *in = &coll->side[me][1];
    void *to = prog_address(run, in), *from = in_place(coll, me) ? MPI_IN_PLACE : prog_address(run, out);
    MPI_Datatype out_type = prog_type_of(run, out), in_type = prog_type_of(run, in);
    MPI_Comm comm = run->comm[coll->comm];
    lists(run, number, 0, out);
    lists(run, number, 1, in);
    int *out_counts = run->counts[number][0], *out_displs = run->counts[number][1];
    int *in_counts = run->counts[number][2], *in_displs = run->counts[number][3];
    int outs = out->count[0], ins = in->count[0];
    if ((coll->kind == PROG_SCATTER || coll->kind == PROG_SCATTERV) && in_place(coll, me)) {
        from = prog_address(run, out);
        to = MPI_IN_PLACE;
    }
    MPI_Op op = ops[coll->op];
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
    default:
        break;
    }
    MPI_Datatype type = coll->element == PROG_INT ? MPI_INT : MPI_DOUBLE;
    int n = coll->counts[0][0];
    int *each = run->counts[number][0];
    switch (coll->kind) {
    case PROG_REDUCE:
        CALL(MPI_Reduce, MPI_Ireduce, from, to, n, type, op, root);
    case PROG_ALLREDUCE:
        CALL(MPI_Allreduce, MPI_Iallreduce, from, to, n, type, op);
    case PROG_REDUCE_SCATTER:
        memcpy(each, coll->counts[0], sizeof coll->counts[0]);
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
}
