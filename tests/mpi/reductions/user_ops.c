/* What kernels do not reduce, in all reductions: products of matrices by a user's function (not commutative), sums over
 * a strided type whose gaps must stay as they are in device memory, long double, and groups of two sides
 * (intercommunicators); on device, host and mixed memory, in place or not, any root, unequal and empty segments. The
 * user's function never sees a device pointer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"
#include "kit.h"
#include "tutti/tutti.h"

enum { COUNT = 60, RANKS = 64, ROOM = COUNT * 64 };
static struct kit_buffer in[2], out[2];
static long device_pointers, applied;

static void look(const void *a, const void *b)
{
    applied++;
    if (!kit_plain)
        device_pointers += tutti_is_device(a) || tutti_is_device(b);
}

/* ---- elements of 32 bytes, of which a strided type uses the first and the last word ---- */

struct word {
    int64_t a, b, c, d;
};
enum kind_of { MATRICES, STRIDED, KINDS };
static MPI_Datatype types[KINDS];
static MPI_Op ops[KINDS];
static const char *const kind_names[KINDS] = {"products of matrices", "sums over a strided type"};

static struct word product(struct word x, struct word y)
{
    return (struct word){(x.a * y.a + x.b * y.c) % 1009, (x.a * y.b + x.b * y.d) % 1009, (x.c * y.a + x.d * y.c) % 1009,
                         (x.c * y.b + x.d * y.d) % 1009};
}

static struct word combined(enum kind_of kind, struct word x, struct word y)
{
    if (kind == MATRICES)
        return product(x, y);
    y.a += x.a;
    y.d += x.d;
    return y;
}

static void apply(enum kind_of kind, const struct word *x, struct word *y, int n)
{
    look(x, y);
    for (int i = 0; i < n; i++)
        y[i] = combined(kind, x[i], y[i]);
}

static void multiply(void *x, void *y, int *length, MPI_Datatype *type)
{
    (void)type;
    apply(MATRICES, x, y, *length);
}

static void add_strided(void *x, void *y, int *length, MPI_Datatype *type)
{
    (void)type;
    apply(STRIDED, x, y, *length);
}

static void make_types(void)
{
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {offsetof(struct word, a), offsetof(struct word, d)};
    MPI_Datatype both[2] = {MPI_INT64_T, MPI_INT64_T}, gaps;
    MPI_Op_create(multiply, 0, &ops[MATRICES]);
    MPI_Op_create(add_strided, 1, &ops[STRIDED]);
    MPI_Type_contiguous(4, MPI_INT64_T, &types[MATRICES]);
    MPI_Type_create_struct(2, lengths, places, both, &gaps);
    MPI_Type_create_resized(gaps, 0, sizeof(struct word), &types[STRIDED]);
    MPI_Type_free(&gaps);
    for (int kind = 0; kind < KINDS; kind++)
        MPI_Type_commit(&types[kind]);
}

static struct word value(int rank, int i)
{
    uint64_t r = random_mix(kit_seed + (uint64_t)rank * 7919 + (uint64_t)i);
    return (struct word){(int64_t)(r % 1009), (int64_t)(r >> 12 & 511), (int64_t)(r >> 24 & 511),
                         (int64_t)(r >> 36 & 511)};
}

/* ---- one call ---- */

struct place {
    int begin, n, depth; /* what this rank gets, of how many ranks */
};

static struct place place_of(enum family_call call, const int *segment, int root)
{
    struct place p = {0, COUNT, kit_size};
    switch (call) {
    case FAMILY_REDUCE:
        p.n = kit_rank == root ? COUNT : 0;
        break;
    case FAMILY_REDUCE_SCATTER:
    case FAMILY_REDUCE_SCATTER_BLOCK:
        for (int r = 0; r < kit_rank; r++)
            p.begin += segment[r];
        p.n = segment[kit_rank];
        break;
    case FAMILY_SCAN:
        p.depth = kit_rank + 1;
        break;
    case FAMILY_EXSCAN:
        p.depth = kit_rank;
        p.n = kit_rank ? COUNT : 0;
        break;
    case FAMILY_REDUCE_LOCAL:
        p.depth = 2;
        break;
    default:
        break;
    }
    return p;
}

static void reduce(enum family_call call, enum kind_of kind, int number)
{
    uint64_t random = random_mix(kit_seed + (uint64_t)number), own = random_mix(random + (uint64_t)kit_rank);
    int segment[RANKS] = {0}, root = (int)(random >> 8) & 1 ? kit_size - 1 : 0, local = call == FAMILY_REDUCE_LOCAL;
    int total = call == FAMILY_REDUCE_SCATTER_BLOCK ? COUNT / kit_size * kit_size : COUNT;
    for (int r = 0; r < kit_size; r++)
        segment[r] = call == FAMILY_REDUCE_SCATTER_BLOCK ? COUNT / kit_size : 0;
    if (call == FAMILY_REDUCE_SCATTER) {
        segment[0] = random >> 16 & 1 ? 0 : COUNT / 4;
        segment[kit_size - 1] += COUNT - segment[0];
    }
    int on_device = random % 3 != 0;
    struct kit_buffer *from = &in[on_device ? 1 : own & 1], *to = &out[on_device ? 1 : own >> 1 & 1];
    /* MPICH 4.0 makes nothing of host memory in place at other roots. */
    int in_place = (random >> 20 & 1) && !local && (call != FAMILY_REDUCE || (kit_rank == root && root == 0));
    struct place p = place_of(call, segment, root);

    struct word mine[COUNT], before[COUNT], want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        mine[i] = value(kit_rank, i);
        before[i] = in_place ? mine[i] : value(local ? kit_rank + 1 : 1000, i);
        want[i] = before[i];
    }
    int first = local ? kit_rank : 0;
    for (int i = 0; i < p.n; i++) {
        struct word sum = value(first, p.begin + i);
        for (int r = 1; r < p.depth; r++)
            sum = combined(kind, sum, value(first + r, p.begin + i));
        want[i].a = sum.a;
        want[i].d = sum.d;
        if (kind == MATRICES)
            want[i] = sum;
    }
    void *at = kit_put(to, 8, before, sizeof before);
    const void *source = in_place ? MPI_IN_PLACE : kit_put(from, 0, mine, sizeof mine);
    struct family f = {call,
                       number % 4 == 0 && family_large(),
                       call == FAMILY_REDUCE_SCATTER_BLOCK ? COUNT / kit_size : COUNT,
                       segment,
                       root,
                       types[kind],
                       ops[kind],
                       MPI_COMM_WORLD};
    int error = family_run(&f, source, at);
    struct word got[COUNT];
    memcpy(got, kit_get(to, NULL), sizeof got);
    for (int i = 0; i < COUNT && kind == STRIDED && to->kind == KIT_HOST; i++) {
        got[i].b = want[i].b; /* what an MPI writes between elements in host memory is its own affair */
        got[i].c = want[i].c;
    }
    /* The contribution behind the result of a reduce-scatter in place is the MPI's. */
    int seen =
        in_place && total && (call == FAMILY_REDUCE_SCATTER || call == FAMILY_REDUCE_SCATTER_BLOCK) ? p.n : COUNT;
    CHECK(error == MPI_SUCCESS && memcmp(got, want, (size_t)seen * sizeof *got) == 0,
          "%s%s, %s, root %d, own %d%s, %s memory: class %d", family_names[call], f.large ? "_c" : "", kind_names[kind],
          root, p.n, in_place ? " in place" : "", to->kind ? "device" : "host", kit_class(error));
    CHECK(in_place || memcmp(kit_get(from, NULL), mine, sizeof mine) == 0, "%s: the contribution was written",
          family_names[call]);
}

/* What the MPI knows and the kernels do not. */
static void long_double(enum family_call call)
{
    long double mine[COUNT], want[COUNT];
    int segment[RANKS] = {COUNT};
    struct place p = place_of(call, segment, 0);
    if (call == FAMILY_REDUCE_SCATTER_BLOCK)
        return;
    memset(mine, 0, sizeof mine);
    for (int i = 0; i < COUNT; i++) {
        mine[i] = kit_rank + 1 + (long double)(i % 8) * 0x1p-60L;
        want[i] = 0;
        for (int r = 0; r < p.depth; r++)
            want[i] += (call == FAMILY_REDUCE_LOCAL ? kit_rank : r) + 1 + (long double)(i % 8) * 0x1p-60L;
    }
    void *to = kit_put(&out[1], 0, call == FAMILY_REDUCE_LOCAL ? mine : NULL, sizeof mine);
    struct family f = {call, 0, COUNT, segment, 0, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD};
    int error = family_run(&f, kit_put(&in[1], 0, mine, sizeof mine), to), wrong = 0;
    const long double *got = (const void *)kit_get(&out[1], NULL);
    for (int i = 0; i < p.n; i++)
        wrong += got[i] != want[i];
    CHECK(error == MPI_SUCCESS && wrong == 0, "%s of long double: class %d, %d elements are wrong", family_names[call],
          kit_class(error), wrong);
}

/* Each side gets what the other brings. */
static void two_sides(void)
{
    if (kit_size < 2)
        return;
    MPI_Comm side, inter;
    int low = kit_rank < kit_size / 2, here = 0, there = 0, rank;
    MPI_Comm_split(MPI_COMM_WORLD, low, kit_rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, low ? kit_size / 2 : 0, 5, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_rank(side, &rank);
    MPI_Comm_size(side, &here);
    MPI_Comm_remote_size(inter, &there);
    int first = low ? kit_size / 2 : 0, begin = rank ? COUNT / 3 + (rank - 1) : 0;
    int segment[RANKS], mine[COUNT], sum[COUNT], nothing[COUNT];
    for (int r = 0; r < here; r++)
        segment[r] = r == 0 ? (here > 1 ? COUNT / 3 : COUNT) : r + 1 < here ? 1 : COUNT - COUNT / 3 - (here - 2);
    for (int i = 0; i < COUNT; i++) {
        mine[i] = kit_rank * 100 + i;
        nothing[i] = -7;
        sum[i] = there * i;
        for (int r = first; r < first + there; r++)
            sum[i] += r * 100;
    }
    for (int root_low = 0; root_low < 2; root_low++) {
        int root = low != root_low ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        void *to = kit_put(&out[1], 0, nothing, sizeof nothing);
        int error = MPI_Reduce(kit_put(&in[1], 0, mine, sizeof mine), to, COUNT, MPI_INT, MPI_SUM, root, inter);
        const int *want = root == MPI_ROOT ? sum : nothing;
        CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out[1], NULL), want, sizeof sum) == 0,
              "MPI_Reduce between two sides: class %d", kit_class(error));
    }
    for (int large = 0; large < 1 + family_large(); large++) {
        struct family f = {FAMILY_REDUCE_SCATTER, large, 0, segment, 0, MPI_INT, MPI_SUM, inter};
        size_t own = (size_t)segment[rank] * sizeof *sum;
        void *to = kit_put(&out[1], 0, NULL, own);
        int error = family_run(&f, kit_put(&in[1], 0, mine, sizeof mine), to);
        CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out[1], NULL), sum + begin, own) == 0,
              "MPI_Reduce_scatter%s between two sides: class %d", large ? "_c" : "", kit_class(error));
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&side);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&in[kind], (enum kit_kind)kind, ROOM);
        kit_open(&out[kind], (enum kit_kind)kind, ROOM);
    }
    make_types();
    for (int call = 0; call < FAMILY_CALLS; call++) {
        for (int number = 0; number < 40; number++)
            reduce((enum family_call)call, (enum kind_of)(number % KINDS), number);
        long_double((enum family_call)call);
        CHECK(kit_plain || family_counted((enum family_call)call, "staged") > 10, "%s is counted as staged %llu times",
              family_names[call], family_counted((enum family_call)call, "staged"));
        CHECK(family_counted((enum family_call)call, "accelerated") == 0, "%s cannot have been accelerated",
              family_names[call]);
    }
    two_sides();
    CHECK(device_pointers == 0, "%ld of %ld times a user's function was given a device pointer", device_pointers,
          applied);
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_Type_free(&types[kind]);
        MPI_Op_free(&ops[kind]);
        kit_close(&in[kind]);
        kit_close(&out[kind]);
    }
    return kit_end("users");
}
