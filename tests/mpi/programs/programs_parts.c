/* Partitioned messages and partitioned collectives of random programs, beside all other calls. A message has a sending
 * and a receiving end that are made and started together; the sender marks its partitions in several later steps, in a
 * random order. A partitioned collective stands for a persistent one; a rank that contributes marks all partitions when
 * it has started the round. */
#include <dlfcn.h>
#include <string.h>

#include "programs.h"
#include "programs_own.h"
#include <tutti/mpix.h>

enum { PART_TAG = 100 /* from here on: of partitioned messages */, PARTS_MOST = 12, PORTIONS = 3, PART_LIST = 64 };

static struct {
    int (*psend_init)(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
    int (*precv_init)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
    int (*ready)(int, MPI_Request);
    int (*ready_range)(int, int, MPI_Request);
    int (*ready_list)(int, const int[], MPI_Request);
    int (*arrived)(MPI_Request, int, int *);
} calls;

int prog_parts_there(void)
{
    *(void **)&calls.psend_init = dlsym(RTLD_DEFAULT, "MPI_Psend_init");
    *(void **)&calls.precv_init = dlsym(RTLD_DEFAULT, "MPI_Precv_init");
    *(void **)&calls.ready = dlsym(RTLD_DEFAULT, "MPI_Pready");
    *(void **)&calls.ready_range = dlsym(RTLD_DEFAULT, "MPI_Pready_range");
    *(void **)&calls.ready_list = dlsym(RTLD_DEFAULT, "MPI_Pready_list");
    *(void **)&calls.arrived = dlsym(RTLD_DEFAULT, "MPI_Parrived");
    return calls.psend_init && calls.precv_init && calls.ready && calls.ready_range && calls.ready_list &&
           calls.arrived;
}

/* ---- drawing ---- */

/* A number of partitions that divides `count`. */
static int draw_parts(struct prog_drawer *d, int count)
{
    int parts = 1 + prog_dice(d, PARTS_MOST);
    while (count % parts != 0)
        parts--;
    return parts;
}

static int is_active(const struct prog *p, int end)
{
    for (int r = 0; r < p->reqs; r++) {
        if (p->req[r].type <= PROG_RECEIVES && p->req[r].end == end && !p->req[r].done)
            return 1;
    }
    return 0;
}

/* Starts both ends, in any order: neither waits for the other one. */
static void pair_start(struct prog_drawer *d, int send)
{
    struct prog *p = d->p;
    const int receive = p->end[send].mate, first = prog_dice(d, 2);
    const int r = prog_start(d, first ? send : receive, PROG_START, -1);
    const int q = prog_start(d, first ? receive : send, PROG_START, r);
    struct prog_req *req = &p->req[first ? r : q];
    req->portions = req->unmarked = 1 + prog_dice(d, PORTIONS);
}

static int pair_make(struct prog_drawer *d)
{
    struct prog *p = d->p;
    int comm, a, b;
    if (!prog_choose_pair(d, &comm, &a, &b) || p->comm[comm].left)
        return 0;
    struct prog_end send = {.rank = a, .comm = comm, .peer = b, .tag = PART_TAG + p->ends, .persistent = 1};
    struct prog_end receive = {.rank = b, .receives = 1, .comm = comm, .peer = a, .tag = send.tag, .persistent = 1};
    const size_t n = prog_draw_n(d, p->comm[comm].element);
    const int one = prog_new_end(d, &send, n), two = one < 0 ? -1 : prog_new_end(d, &receive, n);
    if (one >= 0)
        p->end[one].persistent = two < 0 ? 0 : 1;
    if (two < 0)
        return 0;
    p->end[one].parts = draw_parts(d, p->end[one].side.count[0]);
    p->end[two].parts = draw_parts(d, p->end[two].side.count[0]);
    p->end[one].mate = two;
    const int first = prog_dice(d, 2);
    prog_add(d, first ? a : b, PROG_INIT, first ? one : two, 0);
    prog_add(d, first ? b : a, PROG_INIT, first ? two : one, 0);
    return 1;
}

int prog_part(struct prog_drawer *d)
{
    struct prog *p = d->p;
    if (!prog_may(d, PROG_part))
        return 0;
    for (int i = 0, e = prog_dice(d, p->ends + 1); i < p->ends; i++, e++) {
        e %= p->ends;
        const struct prog_end *end = &p->end[e];
        if (end->parts == 0 || end->receives || end->persistent != 1 || is_active(p, e) || is_active(p, end->mate))
            continue;
        pair_start(d, e);
        return 1;
    }
    return pair_make(d);
}

int prog_mark(struct prog_drawer *d)
{
    struct prog *p = d->p;
    if (!prog_may(d, PROG_part))
        return 0;
    for (int i = 0, r = prog_dice(d, p->reqs + 1); i < p->reqs; i++, r++) {
        r %= p->reqs;
        struct prog_req *req = &p->req[r];
        if (req->unmarked == 0)
            continue;
        prog_add(d, req->rank, PROG_MARK, r, req->portions - req->unmarked--);
        return 1;
    }
    return 0;
}

static int divisor(int a, int b)
{
    while (b != 0) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void prog_pcoll_draw(struct prog_drawer *d, struct prog_coll *coll)
{
    const struct prog_comm *comm = &d->p->comm[coll->comm];
    int all[2] = {0, 0};
    if (coll->kind == PROG_BARRIER || coll->kind == PROG_NEIGHBOR_ALLTOALLW || comm->left ||
        !prog_chance(d, PROG_ppcoll, 60))
        return;
    for (int i = 0; i < comm->size; i++) {
        for (int s = 0; s < 2; s++) {
            const struct prog_side *side = &coll->side[i][s];
            for (int b = 0; side->used && b < side->blocks; b++)
                all[s] = divisor(all[s], side->count[b]);
        }
        if (coll->kind >= PROG_REDUCE)
            all[0] = divisor(all[0], coll->counts[0][i]);
    }
    coll->persistent = 1;
    coll->parts[0] = draw_parts(d, all[0]);
    coll->parts[1] = coll->kind >= PROG_REDUCE ? coll->parts[0] : draw_parts(d, all[1]);
}

/* ---- running ---- */

int prog_part_init(struct prog_run *run, const struct prog_end *end, MPI_Datatype type, int peer, MPI_Request *request)
{
    const MPI_Count count = end->side.count[0] / end->parts;
    void *at = prog_address(run, &end->side);
    return end->receives ? calls.precv_init(at, end->parts, count, type, peer, end->tag, run->comm[end->comm],
                                            MPI_INFO_NULL, request)
                         : calls.psend_init(at, end->parts, count, type, peer, end->tag, run->comm[end->comm],
                                            MPI_INFO_NULL, request);
}

/* Marks n partitions of a list, one by one, as ranges or together. */
static void mark_list(struct prog_run *run, const int *list, int n, uint64_t dice, MPI_Request request)
{
    int error = MPI_SUCCESS;
    if (n == 0)
        return;
    if (dice % 3 == 0)
        error = calls.ready_list(n, list, request);
    for (int i = 0, end; dice % 3 != 0 && i < n && error == MPI_SUCCESS; i = end) {
        end = i + 1;
        while (dice % 3 == 1 && end < n && list[end] == list[end - 1] + 1)
            end++;
        error = dice % 3 == 1 ? calls.ready_range(list[i], list[end - 1], request) : calls.ready(list[i], request);
    }
    prog_check(run, error == MPI_SUCCESS, "marking %d partitions: error class %d", n, kit_class(error));
}

/* Partitions 0..n - 1 in an order of the dice, or as they are. */
static void shuffle(int *list, int n, uint64_t dice)
{
    for (int i = 0; i < n; i++)
        list[i] = i;
    for (int i = n - 1; i > 0 && dice % 4 != 0; i--) {
        const int j = (int)(random_next(&dice) % (uint64_t)(i + 1)), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

static uint64_t dice_of(const struct prog_run *run, int number)
{
    return random_mix(run->p->seed * 31 + run->p->number * 1009 + (uint64_t)number * 17 + (uint64_t)run->rank);
}

void prog_part_mark(struct prog_run *run, int r, int portion)
{
    const struct prog_req *req = &run->p->req[r];
    const struct prog_end *end = &run->p->end[req->end];
    const uint64_t dice = dice_of(run, r);
    const int first = end->parts * portion / req->portions, last = end->parts * (portion + 1) / req->portions;
    int list[PART_LIST];
    shuffle(list, end->parts, dice >> 8);
    mark_list(run, list + first, last - first, dice + (uint64_t)portion, run->end[req->end]);
}

void prog_pcoll_mark(struct prog_run *run, int r, int mine)
{
    const struct prog_coll *coll = &run->p->coll[run->p->req[r].end];
    const int me = prog_rank_in(&run->p->comm[coll->comm], run->rank);
    const int scatters = coll->kind == PROG_SCATTER || coll->kind == PROG_SCATTERV;
    const int n = coll->parts[coll->kind == PROG_BCAST || (mine && !scatters)];
    const uint64_t dice = dice_of(run, r);
    int list[PART_LIST];
    if ((coll->kind == PROG_BCAST || scatters) && me != coll->root)
        return;
    shuffle(list, n, dice >> 8);
    mark_list(run, list, n, dice, run->coll[coll->base]);
}

int prog_pcoll_init(struct prog_run *run, int number, const void *from, void *to, MPI_Datatype out_type,
                    MPI_Datatype in_type, MPI_Request *request)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
    const struct prog_coll *coll = &run->p->coll[number];
    const int me = prog_rank_in(&run->p->comm[coll->comm], run->rank), s = coll->parts[0], r = coll->parts[1];
    const struct prog_side *out = &coll->side[me][0], *in = &coll->side[me][1];
    const MPI_Datatype type = coll->element == PROG_INT ? MPI_INT : MPI_DOUBLE;
    const MPI_Op op = ops[coll->op];
    MPI_Comm comm = run->comm[coll->comm];
    MPI_Count outs[PROG_RANKS] = {0}, ins[PROG_RANKS] = {0}, each[PROG_RANKS];
    MPI_Aint out_at[PROG_RANKS] = {0}, in_at[PROG_RANKS] = {0};
    const MPI_Count n = coll->counts[0][coll->kind == PROG_REDUCE_SCATTER_BLOCK ? me : 0] / s;
    for (int b = 0; b < PROG_RANKS; b++) {
        outs[b] = out->used && b < out->blocks ? out->count[b] / s : 0;
        ins[b] = in->used && b < in->blocks ? in->count[b] / r : 0;
        out_at[b] = out->displ[b];
        in_at[b] = in->displ[b];
        each[b] = coll->counts[0][b] / s;
    }
#define REST comm, MPI_INFO_NULL, request
    switch (coll->kind) {
    case PROG_BCAST:
        return MPIX_Pbcast_init(to, r, ins[0], in_type, coll->root, REST);
    case PROG_GATHER:
        return MPIX_Pgather_init(from, s, outs[0], out_type, to, r, ins[0], in_type, coll->root, REST);
    case PROG_GATHERV:
        return MPIX_Pgatherv_init(from, s, outs[0], out_type, to, r, ins, in_at, in_type, coll->root, REST);
    case PROG_SCATTER:
        return MPIX_Pscatter_init(from, s, outs[0], out_type, to, r, ins[0], in_type, coll->root, REST);
    case PROG_SCATTERV:
        return MPIX_Pscatterv_init(from, s, outs, out_at, out_type, to, r, ins[0], in_type, coll->root, REST);
    case PROG_ALLGATHER:
        return MPIX_Pallgather_init(from, s, outs[0], out_type, to, r, ins[0], in_type, REST);
    case PROG_ALLGATHERV:
        return MPIX_Pallgatherv_init(from, s, outs[0], out_type, to, r, ins, in_at, in_type, REST);
    case PROG_ALLTOALL:
        return MPIX_Palltoall_init(from, s, outs[0], out_type, to, r, ins[0], in_type, REST);
    case PROG_ALLTOALLV:
        return MPIX_Palltoallv_init(from, s, outs, out_at, out_type, to, r, ins, in_at, in_type, REST);
    case PROG_NEIGHBOR_ALLGATHER:
        return MPIX_Pneighbor_allgather_init(from, s, outs[0], out_type, to, r, ins[0], in_type, REST);
    case PROG_NEIGHBOR_ALLGATHERV:
        return MPIX_Pneighbor_allgatherv_init(from, s, outs[0], out_type, to, r, ins, in_at, in_type, REST);
    case PROG_NEIGHBOR_ALLTOALL:
        return MPIX_Pneighbor_alltoall_init(from, s, outs[0], out_type, to, r, ins[0], in_type, REST);
    case PROG_NEIGHBOR_ALLTOALLV:
        return MPIX_Pneighbor_alltoallv_init(from, s, outs, out_at, out_type, to, r, ins, in_at, in_type, REST);
    case PROG_REDUCE:
        return MPIX_Preduce_init(from, to, s, n, type, op, coll->root, REST);
    case PROG_ALLREDUCE:
        return MPIX_Pallreduce_init(from, to, s, n, type, op, REST);
    case PROG_REDUCE_SCATTER:
        return MPIX_Preduce_scatter_init(from, to, s, each, type, op, REST);
    case PROG_REDUCE_SCATTER_BLOCK:
        return MPIX_Preduce_scatter_block_init(from, to, s, n, type, op, REST);
    case PROG_SCAN:
        return MPIX_Pscan_init(from, to, s, n, type, op, REST);
    default:
        return MPIX_Pexscan_init(from, to, s, n, type, op, REST);
    }
#undef REST
}
