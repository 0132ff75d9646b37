/* Reductions over virtual nodes (TUTTI_NODE_RANKS).
 *
 *   nodes WINDOWS bits     An element's bits do not depend on the message's length, its offset in it, or on whether it
 *                          comes by allreduce, reduce-scatter or reduce: windows of one long vector of adversarial
 *                          values are reduced by all of them, blocking and not, in place or not, and each element must
 *                          have the bits that the oracle finds for the placement of the ranks.
 *   nodes ACTIONS kinds    Calls of few counts on several communicators, so that the agreement of one call holds for
 *                          others, with device or host memory drawn for each rank, call and buffer; nonblocking calls
 *                          stay open over blocking ones. Values whose result is exact in any order.
 *
 *   nodes death CALL       The last rank but one is killed behind this call: all others get an error within the time
 *                          limit (TUTTI_TIMEOUT_SECONDS). CALL draws the form of the calls: blocking ones, nonblocking
 *                          ones, one or several open at once, persistent ones.
 *   nodes cut CALL         The same calls without end, until an error: the cable of a node is cut from outside.
 *
 * TUTTI_TEST_EXPECT=ROW: bits: every call must have been made by this algorithm over nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "nodes.h"

enum { LENGTH = 6000, RANKS = 64 };
enum call { ALLREDUCE, REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, CALLS };
static const char *const names[CALLS] = {"allreduce", "reduce", "reduce-scatter", "reduce-scatter of blocks",
                                         "scan",      "exscan"};

/* ---- bits ---- */

struct window {
    enum call call;
    size_t first, count; /* of the whole contribution */
    int counts[RANKS], root, in_place, nonblocking;
    size_t begin, gets; /* this rank's result, from the window's first element on */
};

/* Intel MPI does not poll Tutti in its own waits: there the MPI makes nonblocking calls over nodes. */
static int nonblocking_too(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    return strstr(text, "Intel") == NULL;
}

/* The calls take turns, each in both forms, so that every call is made whatever is drawn. */
static struct window draw_window(uint64_t *dice)
{
    static unsigned turns;
    const unsigned turn = turns++;
    struct window x = {.call = (enum call)(turn % CALLS)};
    static const size_t longest[] = {LENGTH, 40, 900, 900};
    const size_t most = longest[random_next(dice) % 4];
    x.count = 1 + random_next(dice) % most;
    if (x.call == REDUCE_SCATTER_BLOCK)
        x.count = (x.count + (size_t)kit_size - 1) / (size_t)kit_size * (size_t)kit_size;
    x.first = random_next(dice) % (LENGTH + RANKS - x.count + 1);
    x.root = (int)(random_next(dice) % (uint64_t)kit_size);
    x.in_place = (int)(random_next(dice) % 2);
    x.nonblocking = (int)(turn / CALLS % 2) && nonblocking_too();
    size_t left = x.count;
    for (int r = 0; r < kit_size; r++) {
        const size_t part = r + 1 == kit_size ? left : random_next(dice) % 4 == 0 ? 0 : random_next(dice) % (left + 1);
        x.counts[r] = x.call == REDUCE_SCATTER_BLOCK ? (int)(x.count / (size_t)kit_size) : (int)part;
        left -= part;
    }
    const int gets = x.call == REDUCE ? kit_rank == x.root : x.call != EXSCAN || kit_rank > 0;
    x.gets = gets ? x.count : 0;
    if (x.call == REDUCE_SCATTER || x.call == REDUCE_SCATTER_BLOCK) {
        for (int r = 0; r < kit_rank; r++)
            x.begin += (size_t)x.counts[r];
        x.gets = (size_t)x.counts[kit_rank];
    }
    return x;
}

static int make_call(const struct window *x, const void *from, void *to, MPI_Datatype type, MPI_Op op)
{
    const int n = (int)x->count;
    MPI_Request request = MPI_REQUEST_NULL;
    int error;
    switch (x->call) {
    case ALLREDUCE:
        error = x->nonblocking ? MPI_Iallreduce(from, to, n, type, op, MPI_COMM_WORLD, &request)
                               : MPI_Allreduce(from, to, n, type, op, MPI_COMM_WORLD);
        break;
    case REDUCE:
        error = x->nonblocking ? MPI_Ireduce(from, to, n, type, op, x->root, MPI_COMM_WORLD, &request)
                               : MPI_Reduce(from, to, n, type, op, x->root, MPI_COMM_WORLD);
        break;
    case REDUCE_SCATTER:
        error = x->nonblocking ? MPI_Ireduce_scatter(from, to, x->counts, type, op, MPI_COMM_WORLD, &request)
                               : MPI_Reduce_scatter(from, to, x->counts, type, op, MPI_COMM_WORLD);
        break;
    case SCAN:
        error = x->nonblocking ? MPI_Iscan(from, to, n, type, op, MPI_COMM_WORLD, &request)
                               : MPI_Scan(from, to, n, type, op, MPI_COMM_WORLD);
        break;
    case EXSCAN:
        error = x->nonblocking ? MPI_Iexscan(from, to, n, type, op, MPI_COMM_WORLD, &request)
                               : MPI_Exscan(from, to, n, type, op, MPI_COMM_WORLD);
        break;
    default:
        error = x->nonblocking ? MPI_Ireduce_scatter_block(from, to, x->counts[0], type, op, MPI_COMM_WORLD, &request)
                               : MPI_Reduce_scatter_block(from, to, x->counts[0], type, op, MPI_COMM_WORLD);
        break;
    }
    const int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return error != MPI_SUCCESS ? error : waited;
}

static void one_window(const struct kit_pair *pair, struct window x, const char *mine, char *const want[CALLS],
                       struct kit_buffer *in, struct kit_buffer *out, uint64_t *dice)
{
    const size_t size = pair->handle->size, in_at = random_next(dice) % 5 * size % KIT_OFFSET;
    const int in_place = x.in_place && (x.call != REDUCE || kit_rank == x.root);
    void *const to = kit_put(out, in_at, in_place ? mine + x.first * size : NULL, x.count * size);
    const void *const from = in_place ? MPI_IN_PLACE : kit_put(in, in_at, mine + x.first * size, x.count * size);
    const int error = make_call(&x, from, to, pair->handle->type, kit_op(pair->op));
    int guards;
    const char *const got = kit_get(out, &guards);
    const char *const expected = want[x.call] + (x.first + x.begin) * size;
    const size_t differs = oracle_differ(pair->handle->element, got, expected, x.gets, 0);
    CHECK(error == MPI_SUCCESS && guards && differs == x.gets,
          "%s %s by %s%s%s: element %zu of %zu from %zu does not have the bits of the whole vector (class %d)",
          pair->handle->name, oracle_op_name(pair->op), names[x.call], x.nonblocking ? ", nonblocking" : "",
          in_place ? ", in place" : "", differs, x.count, x.first, kit_class(error));
}

static void bits(int windows)
{
    for (int i = 0; i < kit_pair_count; i++) {
        const struct kit_pair *pair = &kit_pairs[i];
        if (kit_handle_of(pair->handle->element) != pair->handle ||
            !(oracle_floating(pair->handle->element) || pair->op == TUTTI_OP_MINLOC))
            continue;
        const size_t bytes = (LENGTH + RANKS) * pair->handle->size;
        struct oracle_case c = kit_case(pair, ORACLE_HARD, random_mix(kit_seed + (uint64_t)i));
        char *const mine = malloc(bytes), *const all = malloc(bytes), *const through = malloc(bytes),
                    *const before = malloc(bytes);
        char *const want[CALLS] = {all, all, all, all, through, before};
        struct kit_buffer in, out;
        uint64_t dice = random_mix(kit_seed ^ (uint64_t)i);
        kit_open(&in, KIT_DEVICE, bytes);
        kit_open(&out, KIT_DEVICE, bytes);
        oracle_fill(mine, &c, kit_rank, 0, LENGTH + RANKS);
        kit_expect(all, &c, kit_size, 0, LENGTH + RANKS);
        kit_expect_scan(through, &c, kit_rank + 1, 0, LENGTH + RANKS);
        kit_expect_scan(before, &c, kit_rank, 0, LENGTH + RANKS);
        for (int w = 0; w < windows; w++)
            one_window(pair, draw_window(&dice), mine, want, &in, &out, &dice);
        kit_close(&in);
        kit_close(&out);
        free(mine);
        free(all);
        free(through);
        free(before);
    }
    const char *const expect = getenv("TUTTI_TEST_EXPECT");
    const char *const counted[] = {"MPI_Allreduce", nonblocking_too() ? "MPI_Ireduce" : "MPI_Reduce",
                                   "MPI_Reduce_scatter",
                                   nonblocking_too() ? "MPI_Ireduce_scatter_block" : "MPI_Reduce_scatter_block"};
    static const char *const scans[] = {"MPI_Scan", "MPI_Exscan"}, *const open_scans[] = {"MPI_Iscan", "MPI_Iexscan"};
    for (int k = 0; expect && k < 2; k++)
        CHECK(kit_counted(nonblocking_too() ? open_scans[k] : scans[k], "ranks") > 0 &&
                  kit_counted(scans[k], "staged") == 0,
              "%s: not by ranks", scans[k]);
    for (int k = 0; expect && k < 4; k++)
        CHECK(kit_counted(counted[k], expect) > 0 && kit_counted(counted[k], "staged") == 0, "%s: not by %s",
              counted[k], expect);
}

/* ---- kinds ---- */

enum { COMMS = 3, OPEN = 5, COUNTS = 4, MOST = 3000, BESIDE = 4 };
static const int some_counts[COUNTS] = {1, 37, 600, MOST};
enum form {
    FORM_ALL,
    FORM_IALL,
    FORM_IREDUCE,
    FORM_ISCATTER,
    FORM_ISCATTER_BLOCK,
    FORM_ISCAN,
    FORM_EXSCAN_INIT,
    FORM_PERSISTENT,
    FORMS
};

struct slot {
    struct kit_buffer in[2], out[2]; /* by kind */
    MPI_Request request;
    enum form form;
    int open, kind[2], comm, count, root, combines; /* combines: the contributions of so many ranks */
    int counts[RANKS], begin, gets;                 /* this rank gets elements [begin, begin + gets) */
    int64_t value;                                  /* of the first element, for rank 0 of the world */
};

/* A nonblocking collective of host memory, on the communicators of the others. */
struct beside {
    MPI_Request request;
    int comm, word, all[RANKS];
};

static MPI_Comm comms[COMMS];
static int comm_size[COMMS], comm_members[COMMS][RANKS], comm_rank[COMMS];

static void open_comms(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -kit_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank % 2, (kit_rank * 7) % kit_size, &comms[2]);
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_size(comms[c], &comm_size[c]);
        MPI_Comm_rank(comms[c], &comm_rank[c]);
        MPI_Allgather(&kit_rank, 1, MPI_INT, comm_members[c], 1, MPI_INT, comms[c]);
    }
}

static int64_t value_of(const struct slot *s, int world_rank, int i)
{
    return s->value + (int64_t)world_rank * 100000 + i % 97;
}

/* Device memory on all ranks, host memory on all, or what is drawn for each rank and buffer. */
static void draw_kinds(struct slot *s, uint64_t *dice)
{
    const uint64_t how = random_next(dice) % 8, mixed = random_next(dice);
    for (int b = 0; b < 2; b++) {
        const uint64_t own = random_mix(mixed + (uint64_t)(kit_rank * 2 + b));
        s->kind[b] = how < 5 ? KIT_DEVICE : how == 5 ? KIT_HOST : (int)(own % 4 != 0);
    }
}

static void draw_slot(struct slot *s, uint64_t *dice)
{
    s->comm = (int)(random_next(dice) % COMMS);
    s->value = (int64_t)(random_next(dice) % 1000);
    s->form = (enum form)(random_next(dice) % FORMS);
    const int size = comm_size[s->comm], rank = comm_rank[s->comm];
    s->count = some_counts[random_next(dice) % COUNTS];
    s->root = (int)(random_next(dice) % 64) % size;
    uint64_t parts = random_next(dice); /* as many draws in groups of any size */
    if (s->form == FORM_ISCATTER_BLOCK)
        s->count = s->count / size * size;
    s->begin = 0;
    s->gets = (s->form == FORM_IREDUCE && rank != s->root) || (s->form == FORM_EXSCAN_INIT && rank == 0) ? 0 : s->count;
    s->combines = s->form == FORM_ISCAN ? rank + 1 : s->form == FORM_EXSCAN_INIT ? rank : size;
    if (s->form != FORM_ISCATTER && s->form != FORM_ISCATTER_BLOCK)
        return;
    for (int r = 0, left = s->count; r < size; r++) {
        s->counts[r] = s->form == FORM_ISCATTER_BLOCK ? s->count / size
                       : r + 1 == size                ? left
                                                      : (int)(random_next(&parts) % (uint64_t)(left + 1));
        s->begin += r < rank ? s->counts[r] : 0;
        left -= s->counts[r];
    }
    s->gets = s->counts[rank];
}

static void start_slot(struct slot *s, uint64_t *dice, int device)
{
    static int64_t mine[MOST];
    draw_slot(s, dice);
    draw_kinds(s, dice);
    if (device)
        s->kind[0] = s->kind[1] = KIT_DEVICE;
    for (int i = 0; i < s->count; i++)
        mine[i] = value_of(s, kit_rank, i);
    const void *const in = kit_put(&s->in[s->kind[0]], 0, mine, (size_t)s->count * 8);
    void *const out = kit_put(&s->out[s->kind[1]], 8, NULL, (size_t)s->count * 8);
    const MPI_Comm comm = comms[s->comm];
    int error;
    s->open = 1;
    s->request = MPI_REQUEST_NULL;
    switch (s->form) {
    case FORM_ALL:
        error = MPI_Allreduce(in, out, s->count, MPI_INT64_T, MPI_SUM, comm);
        break;
    case FORM_IREDUCE:
        error = MPI_Ireduce(in, out, s->count, MPI_INT64_T, MPI_SUM, s->root, comm, &s->request);
        break;
    case FORM_ISCATTER:
        error = MPI_Ireduce_scatter(in, out, s->counts, MPI_INT64_T, MPI_SUM, comm, &s->request);
        break;
    case FORM_ISCATTER_BLOCK:
        error = MPI_Ireduce_scatter_block(in, out, s->counts[0], MPI_INT64_T, MPI_SUM, comm, &s->request);
        break;
    case FORM_ISCAN:
        error = MPI_Iscan(in, out, s->count, MPI_INT64_T, MPI_SUM, comm, &s->request);
        break;
    case FORM_EXSCAN_INIT:
        error = nodes_call_init("MPI_Exscan_init", in, out, s->count, comm, &s->request);
        break;
    case FORM_PERSISTENT:
        error = nodes_call_init("MPI_Allreduce_init", in, out, s->count, comm, &s->request);
        break;
    default:
        error = MPI_Iallreduce(in, out, s->count, MPI_INT64_T, MPI_SUM, comm, &s->request);
    }
    CHECK(error == MPI_SUCCESS, "class %d", kit_class(error));
}

/* Each rank completes a request in its own way. */
static void end_request(MPI_Request *request, uint64_t *own)
{
    int flag = 0;
    if (random_next(own) % 2) {
        while (!flag)
            CHECK(MPI_Test(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the test fails");
    }
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the wait fails");
}

static void check_slot(struct slot *s)
{
    int guards, wrong = -1;
    const int64_t *const got = (const void *)kit_get(&s->out[s->kind[1]], &guards);
    for (int i = 0; i < s->gets && wrong < 0; i++) {
        int64_t sum = 0;
        for (int r = 0; r < s->combines; r++)
            sum += value_of(s, comm_members[s->comm][r], s->begin + i);
        wrong = got[i] != sum ? i : -1;
    }
    CHECK(wrong < 0 && guards, "form %d, communicator %d, %d elements, %s to %s memory: element %d is wrong",
          (int)s->form, s->comm, s->count, s->kind[0] == KIT_HOST ? "host" : "device",
          s->kind[1] == KIT_HOST ? "host" : "device", wrong);
}

/* A persistent one starts twice. */
static void end_slot(struct slot *s, uint64_t *own)
{
    const int persistent = s->form == FORM_PERSISTENT || s->form == FORM_EXSCAN_INIT;
    for (int i = 0; i < 1 + persistent; i++) {
        if (i > 0)
            CHECK(MPI_Start(&s->request) == MPI_SUCCESS, "the second start fails");
        end_request(&s->request, own);
        check_slot(s);
    }
    if (persistent)
        CHECK(MPI_Request_free(&s->request) == MPI_SUCCESS, "a persistent request is not freed");
    s->open = 0;
}

static void end_beside(struct beside *b, uint64_t *own)
{
    if (b->request == MPI_REQUEST_NULL)
        return;
    end_request(&b->request, own);
    for (int r = 0; r < comm_size[b->comm]; r++)
        CHECK(b->all[r] == b->word + comm_members[b->comm][r], "rank %d's part of an allgather is %d", r, b->all[r]);
}

/* The program's own collectives: they may not overtake the reductions, nor the reductions them. */
static void call_beside(struct beside *b, uint64_t *dice, uint64_t *own)
{
    const uint64_t what = random_next(dice) % 8;
    const int c = (int)(random_next(dice) % COMMS), root = (int)(random_next(dice) % 64) % comm_size[c];
    static int mine[BESIDE];
    int word = kit_rank;
    if (what == 0) {
        MPI_Barrier(comms[c]);
    } else if (what == 1) {
        MPI_Bcast(&word, 1, MPI_INT, root, comms[c]);
        CHECK(word == comm_members[c][root], "a broadcast of %d", word);
    } else if (what == 2) {
        MPI_Comm made;
        MPI_Comm_split(comms[c], 0, 0, &made);
        MPI_Comm_free(&made);
    } else if (what < 6) {
        const int i = (int)(random_next(dice) % BESIDE);
        end_beside(&b[i], own);
        b[i].comm = c;
        b[i].word = (int)(random_next(dice) % 1000);
        mine[i] = b[i].word + kit_rank;
        MPI_Iallgather(&mine[i], 1, MPI_INT, b[i].all, 1, MPI_INT, comms[c], &b[i].request);
    }
}

/* Communicators are freed while calls of device memory are open on them. */
static void free_open(struct slot *slots, uint64_t *dice, uint64_t *own)
{
    for (int i = 0; i < OPEN; i++)
        start_slot(&slots[i], dice, 1);
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
    for (int i = 0; i < OPEN; i++) {
        end_slot(&slots[i], own);
        for (int kind = 0; kind < 2; kind++) {
            kit_close(&slots[i].in[kind]);
            kit_close(&slots[i].out[kind]);
        }
    }
}

static void kinds(int actions)
{
    static struct slot slots[OPEN];
    static struct beside besides[BESIDE];
    uint64_t dice = random_mix(kit_seed), own = random_mix(kit_seed + 1 + (uint64_t)kit_rank);
    open_comms();
    for (int i = 0; i < BESIDE; i++)
        besides[i].request = MPI_REQUEST_NULL;
    for (int i = 0; i < OPEN; i++) {
        for (int kind = 0; kind < 2; kind++) {
            kit_open(&slots[i].in[kind], (enum kit_kind)kind, MOST * 8 + 64);
            kit_open(&slots[i].out[kind], (enum kit_kind)kind, MOST * 8 + 64);
        }
    }
    for (int a = 0; a < actions; a++) {
        struct slot *const s = &slots[random_next(&dice) % OPEN];
        if (s->open)
            end_slot(s, &own);
        start_slot(s, &dice, 0);
        call_beside(besides, &dice, &own);
    }
    for (int i = 0; i < BESIDE; i++)
        end_beside(&besides[i], &own);
    for (int i = 0; i < OPEN; i++) {
        if (slots[i].open)
            end_slot(&slots[i], &own);
    }
    free_open(slots, &dice, &own);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc > 2 && (strcmp(argv[1], "death") == 0 || strcmp(argv[1], "cut") == 0))
        nodes_death(atol(argv[2]), strcmp(argv[1], "cut") == 0);
    const int many = argc > 1 ? atoi(argv[1]) : 40;
    if (argc > 2 && strcmp(argv[2], "kinds") == 0)
        kinds(many);
    else
        bits(many);
    return kit_end("nodes");
}
