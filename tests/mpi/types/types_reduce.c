/* Reductions of types with gaps by a user's operator that does not commute, on device memory: all calls, blocking,
 * nonblocking and persistent, in place and not; types and operators freed before their calls end. What lies between the
 * elements stays as it is, the user's function sees host memory alone, and the handle that the program gave. */
#include <stdio.h>
#include <string.h>

#include "family.h"
#include "reduction_request.h"
#include "support/random.h"
#include "tutti/tutti.h"

enum {
    INTS = 4,
    RANKS = 8,
    BLOCK = 3,
    MOST = 8 * RANKS,
    WIDEST = 64,
    ROOM = MOST * WIDEST,
    LEVELS = 210,
    MODULUS = 97
};

struct layout {
    const char *name;
    int extent, at[INTS]; /* in integers */
    int levels;           /* of no effect; many: there is no plan */
};
static const struct layout layouts[] = {
    {"sparse", 64, {0, 16, 32, 48}, 0},
    {"dense", 5, {0, 1, 2, 4}, 0},
    {"backwards", 9, {7, 5, 2, 0}, 0},
    {"no plan", 6, {0, 1, 3, 4}, LEVELS},
};

static struct kit_buffer in[2], out[2];
static const struct layout *now;
static MPI_Datatype type;
static MPI_Op op;
static long applied, strange;
static int mine[ROOM], before[ROOM];

static MPI_Datatype make_type(void)
{
    MPI_Datatype made, next;
    int lengths[INTS] = {1, 1, 1, 1};
    MPI_Type_indexed(INTS, lengths, now->at, MPI_INT, &next);
    MPI_Type_create_resized(next, 0, now->extent * (MPI_Aint)sizeof(int), &made);
    MPI_Type_free(&next);
    for (int i = 0; i < now->levels; i++) {
        MPI_Type_contiguous(1, made, &next);
        MPI_Type_free(&made);
        made = next;
    }
    MPI_Type_commit(&made);
    return made;
}

/* Two pairs an element: (a, b) (c, d) = (a c, a d + b). */
static void multiply(const int *x, int *y)
{
    for (int i = 0; i < INTS; i += 2) {
        int a = x[now->at[i]], b = x[now->at[i + 1]], c = y[now->at[i]], d = y[now->at[i + 1]];
        y[now->at[i]] = a * c % MODULUS;
        y[now->at[i + 1]] = (a * d + b) % MODULUS;
    }
}

static MPI_Datatype wanted;
static void apply(void *x, void *y, int *length, MPI_Datatype *of)
{
    applied++;
    strange += *of != wanted || (!kit_plain && (tutti_is_device(x) || tutti_is_device(y)));
    for (int i = 0; i < *length; i++)
        multiply((const int *)x + (ptrdiff_t)i * now->extent, (int *)y + (ptrdiff_t)i * now->extent);
}

static void contribution(int *to, int n, int rank, int round)
{
    for (int i = 0; i < ROOM; i++)
        to[i] = -7 - i;
    for (int e = 0; e < n; e++) {
        for (int i = 0; i < INTS; i++)
            to[e * now->extent + now->at[i]] =
                (int)(random_mix((uint64_t)(rank * 1009 + round * 131 + e * INTS + i)) % (MODULUS - 1)) + 1;
    }
}

/* What call, elements of one contribution, results of this rank, from which on, and of how many ranks. */
struct what {
    enum family_call call;
    int round, in_place, counts[RANKS], total, begin, results, depth, root;
};

static void shape(struct what *w)
{
    w->total = 7;
    w->begin = 0;
    w->depth = kit_size;
    for (int r = 0; r < kit_size; r++)
        w->counts[r] = (r * 3 + 2) % 5;
    if (w->call == FAMILY_REDUCE_SCATTER) {
        w->total = 0;
        for (int r = 0; r < kit_size; r++) {
            w->begin += r < kit_rank ? w->counts[r] : 0;
            w->total += w->counts[r];
        }
    }
    if (w->call == FAMILY_REDUCE_SCATTER_BLOCK) {
        w->total = BLOCK * kit_size;
        w->begin = BLOCK * kit_rank;
    }
    w->results = w->call == FAMILY_REDUCE                 ? (kit_rank == w->root ? w->total : 0)
                 : w->call == FAMILY_REDUCE_SCATTER       ? w->counts[kit_rank]
                 : w->call == FAMILY_REDUCE_SCATTER_BLOCK ? BLOCK
                                                          : w->total;
    if (w->call == FAMILY_SCAN || w->call == FAMILY_EXSCAN)
        w->depth = w->call == FAMILY_SCAN ? kit_rank + 1 : kit_rank;
    if (w->depth == 0)
        w->results = 0;
}

static int is_typed(int i)
{
    for (int k = 0; k < INTS; k++) {
        if (i % now->extent == now->at[k])
            return 1;
    }
    return 0;
}

/* Typed integers of the results; in place what follows those may be anything. */
static void check(const struct what *w, struct kit_buffer *sent, struct kit_buffer *received, const char *how, int code)
{
    static int want[ROOM], next[ROOM];
    int ints = w->total * now->extent, wrong = -1;
    for (int r = w->depth - 1; r >= 0; r--) {
        contribution(r == w->depth - 1 ? want : next, w->total, r, w->round);
        for (int e = 0; r < w->depth - 1 && e < w->total; e++)
            multiply(next + (ptrdiff_t)e * now->extent, want + (ptrdiff_t)e * now->extent);
    }
    const int *got = (const void *)kit_get(received, NULL);
    for (int i = 0; i < ints && wrong < 0; i++) {
        int result = i < w->results * now->extent;
        if (is_typed(i) ? result && got[i] != want[w->begin * now->extent + i] : got[i] != before[i])
            wrong = i;
        if (is_typed(i) && !result && !w->in_place && w->depth && got[i] != before[i])
            wrong = i;
    }
    CHECK(code == MPI_SUCCESS && wrong < 0, "%s%s%s, %s: class %d, integer %d is %d", how, family_names[w->call] + 4,
          w->in_place ? " in place" : "", now->name, kit_class(code), wrong, wrong < 0 ? 0 : got[wrong]);
    contribution(mine, w->total, kit_rank, w->round);
    if (!w->in_place)
        CHECK(memcmp(kit_get(sent, NULL), mine, (size_t)ints * sizeof(int)) == 0, "%s wrote what it sends",
              family_names[w->call]);
}

/* Buffers of the call, with new contents. */
static void *put(const struct what *w, struct kit_buffer *sent, struct kit_buffer *received, const void **send)
{
    size_t bytes = (size_t)(w->total * now->extent) * sizeof(int);
    contribution(mine, w->total, kit_rank, w->round);
    memcpy(before, mine, sizeof before);
    if (!w->in_place)
        memset(before, 0x3c, sizeof before);
    *send = w->in_place ? MPI_IN_PLACE : kit_put(sent, 8, mine, bytes);
    void *to = kit_put(received, 4, before, bytes);
    if (w->in_place && w->call == FAMILY_REDUCE && kit_rank != w->root)
        *send = to;
    return to;
}

static void blocking(struct what w, int from_host, int to_host)
{
    const void *send;
    shape(&w);
    void *to = put(&w, &in[from_host], &out[to_host], &send);
    struct family f = {.call = w.call,
                       .count = w.call == FAMILY_REDUCE_SCATTER_BLOCK ? BLOCK : w.total,
                       .counts = w.counts,
                       .root = w.root,
                       .type = type,
                       .op = op,
                       .comm = MPI_COMM_WORLD};
    unsigned long long kernels = family_counted(w.call, "packed by a kernel");
    int code = family_run(&f, send, to);
    check(&w, &in[from_host], &out[to_host], "", code);
    if (!kit_plain && !from_host && !to_host && !w.in_place)
        CHECK((family_counted(w.call, "packed by a kernel") > kernels) == !now->levels,
              "%s, %s: the counters do not say whether a kernel packed", family_names[w.call], now->name);
}

static void local(void)
{
    struct what w = {.call = FAMILY_REDUCE_LOCAL};
    static int want[ROOM];
    w.total = 7;
    size_t bytes = (size_t)(w.total * now->extent) * sizeof(int);
    contribution(mine, w.total, 0, 1);
    contribution(want, w.total, 1, 1);
    void *x = kit_put(&in[0], 0, mine, bytes), *y = kit_put(&out[0], 12, want, bytes);
    int code = MPI_Reduce_local(x, y, w.total, type, op);
    for (int e = 0; e < w.total; e++)
        multiply(mine + (ptrdiff_t)e * now->extent, want + (ptrdiff_t)e * now->extent);
    CHECK(code == MPI_SUCCESS && memcmp(kit_get(&out[0], NULL), want, bytes) == 0, "MPI_Reduce_local, %s: class %d",
          now->name, kit_class(code));
}

/* The type and the operator are freed as soon as the call has begun; other types take the handles that are free. */
static void later(struct what w, int persistent)
{
    MPI_Datatype others[4];
    const void *send;
    shape(&w);
    struct reduction_request q = {
        .call = (enum rreq_call)w.call, .root = w.root, .comm = MPI_COMM_WORLD, .size = kit_size};
    q.request = MPI_REQUEST_NULL;
    q.count = w.total;
    memcpy(q.counts, w.counts, sizeof w.counts);
    q.type = wanted = make_type();
    MPI_Op_create(apply, 0, &q.op);
    q.recv = put(&w, &in[0], &out[0], &send);
    q.send = (void *)(uintptr_t)send;
    int code = persistent ? rreq_init(&q, 0) : rreq_start(&q, 0);
    MPI_Type_free(&q.type);
    MPI_Op_free(&q.op);
    CHECK(q.type == MPI_DATATYPE_NULL && q.op == MPI_OP_NULL, "freed handles are null");
    for (int i = 0; i < 4; i++) {
        MPI_Type_vector(2, 1, 3, MPI_CHAR, &others[i]);
        MPI_Type_commit(&others[i]);
    }
    for (int turn = 0; turn < 1 + persistent; turn++) {
        if (turn) {
            w.round++;
            put(&w, &in[0], &out[0], &send);
        }
        if (persistent)
            code |= MPI_Start(&q.request);
        code |= MPI_Wait(&q.request, MPI_STATUS_IGNORE);
        check(&w, &in[0], &out[0], persistent ? "persistent " : "nonblocking ", code);
    }
    if (persistent)
        MPI_Request_free(&q.request);
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&others[i]);
}

/* A predefined operator on a derived type: what the MPI itself says of it. */
static void predefined(void)
{
    struct family f = {.call = FAMILY_ALLREDUCE, .count = 5, .op = MPI_SUM, .comm = MPI_COMM_WORLD};
    int here[10], there[10];
    for (int i = 0; i < 10; i++)
        here[i] = kit_rank + i;
    memset(there, 0, sizeof there);
    MPI_Type_contiguous(2, MPI_INT, &f.type);
    MPI_Type_commit(&f.type);
    void *to = kit_put(&out[0], 0, there, sizeof there);
    int code = family_run(&f, kit_put(&in[0], 0, here, sizeof here), to), real = family_real(&f, here, there);
    CHECK(kit_class(code) == kit_class(real), "MPI_SUM of a derived type: class %d, the MPI's %d", kit_class(code),
          kit_class(real));
    CHECK(memcmp(kit_get(&out[0], NULL), there, sizeof there) == 0, "MPI_SUM of a derived type, class %d",
          kit_class(code));
    MPI_Type_free(&f.type);
}

/* MPICH's MPI_Reduce_scatter_block of 2, 4 ... ranks goes wrong with such types and operators. */
static int is_sane(int call)
{
#ifdef OPEN_MPI
    (void)call;
    return 1;
#else
    return call != FAMILY_REDUCE_SCATTER_BLOCK || kit_size & (kit_size - 1);
#endif
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size > RANKS)
        kit_skip("types_reduce", "too many ranks");
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length, n = (int)(sizeof layouts / sizeof layouts[0]);
    MPI_Get_library_version(library, &length);
    if (strstr(library, "Intel")) /* leaves out elements of types of so many levels */
        n--;
    for (int host = 0; host < 2; host++) {
        kit_open(&in[host], host ? KIT_HOST : KIT_DEVICE, ROOM * sizeof(int));
        kit_open(&out[host], host ? KIT_HOST : KIT_DEVICE, ROOM * sizeof(int));
    }
    for (int l = 0; l < n; l++) {
        now = &layouts[l];
        type = wanted = make_type();
        MPI_Op_create(apply, 0, &op);
        for (int c = 0; c < FAMILY_REDUCE_LOCAL; c++) {
            for (int in_place = 0; in_place < 2 && is_sane(c); in_place++) {
                struct what w = {.call = (enum family_call)c, .in_place = in_place, .root = (c + l) % kit_size};
                for (int host = 0; host < 3; host++)
                    blocking(w, host == 1, host == 2);
            }
        }
        local();
        MPI_Op_free(&op);
        MPI_Type_free(&type);
        for (int c = 0; c < RREQ_CALLS; c++) {
            for (int in_place = 0; in_place < 2 && is_sane(c); in_place++) {
                struct what w = {.call = (enum family_call)c, .in_place = in_place, .root = (c + l) % kit_size};
                later(w, 0);
                if (!kit_plain && rreq_persistent())
                    later(w, 1);
            }
        }
    }
    if (kit_errors_returned())
        predefined();
    CHECK(applied > 0 && strange == 0, "%ld of %ld times the user's function got what it must not see", strange,
          applied);
    for (int host = 0; host < 2; host++) {
        kit_close(&in[host]);
        kit_close(&out[host]);
    }
    return kit_end("types_reduce");
}
