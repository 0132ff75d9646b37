/* Every legal pair of type and operator, 24 counts, in place or not, 5 alignments, against the oracle bit for bit, with
 * guard bytes round every buffer. Ranks are the run's, mpirun -n.
 *
 *   matrix CELLS [A,B ...]
 *   matrix small [A,B ...]
 *
 * CELLS: that many cells spread evenly over the whole product (all of it where it is smaller), and large ones (in
 * `make check` the algorithms of a list take turns with them). small:
 * the whole product of the counts up to 65. A,B: once for each of these algorithms, on a communicator of its own, which
 * must take it; CELLS may come again with other algorithms.
 *
 * Of long vectors each rank works out a part of what is right, and all must hold the same bits: so all of it is looked
 * at.
 *
 * TUTTI_TEST_EXPECT=NAME: every call must have been counted under that algorithm; with TUTTI_TEST_SHARE=90 ninety of a
 * hundred (the front end may have been built with the header of an MPI that lacks some of the program's types).
 * TUTTI_TEST_LOOSE=1: the MPI does the work, in an order of its own (TUTTI_NODE_RANKS, TUTTI_DEVICE=none): plain
 * values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "kit.h"

static const size_t counts[] = {0,  1,  2,  3,  4,  5,   7,   8,   9,    15,   16,   17,
                                31, 33, 63, 64, 65, 127, 255, 257, 1000, 1025, 4097, 65537};
enum { COUNTS = sizeof counts / sizeof *counts, SMALL = 17, ALIGNMENTS = 5, LARGEST = 16, LONG = 4096 };

struct cell {
    const struct kit_pair *pair;
    size_t count;
    int in_place, alignment;
    enum oracle_mode mode;
    uint64_t seed;
};

static struct kit_buffer in, out;
static char *mine, *want;
static size_t room;
static int loose;
static uint64_t digest;
static long cells, calls, unknown, agreements;
static const char *algorithm = ""; /* that is asked for; "": as the rules say */
static MPI_Comm comm;

/* Bytes by which the two buffers are off a 256-byte line. */
static void offsets(const struct cell *cell, size_t *in_at, size_t *out_at)
{
    size_t size = cell->pair->handle->size;
    const size_t table[ALIGNMENTS][2] = {{0, 0}, {size, size}, {3 * size, 0}, {8, 4}, {1, 3}};
    *in_at = table[cell->alignment][0] % KIT_OFFSET;
    *out_at = table[cell->alignment][1] % KIT_OFFSET;
}

static void describe(const struct cell *cell, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s %s count %zu alignment %d%s%s seed %llu", algorithm, *algorithm ? ": " : "",
             cell->pair->handle->name, oracle_op_name(cell->pair->op), cell->count, cell->alignment,
             cell->in_place ? " in place" : "", cell->mode == ORACLE_HARD ? " hard values" : "",
             (unsigned long long)cell->seed);
}

static void reopen(size_t bytes)
{
    if (in.base) {
        kit_close(&in);
        kit_close(&out);
    }
    if (bytes > room) {
        free(mine);
        free(want);
        mine = malloc(bytes);
        want = malloc(bytes);
        room = bytes;
    }
    kit_open(&in, KIT_DEVICE, bytes);
    kit_open(&out, KIT_DEVICE, bytes);
}

/* Every rank has the same bits, NaN included. */
static void agree(const char *text)
{
    uint64_t all[2] = {digest, ~digest};
    agreements++;
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (!CHECK(all[0] == digest && all[1] == ~digest, "ranks hold different bits after cell %ld: %s", cells, text))
        digest = 0; /* what comes after is looked at by itself */
}

static void run(const struct cell *cell)
{
    const struct kit_handle *handle = cell->pair->handle;
    struct oracle_case c = kit_case(cell->pair, cell->mode, cell->seed);
    size_t bytes = cell->count * handle->size, in_at, out_at;
    char text[256], a[96], b[96];
    describe(cell, text, sizeof text);
    offsets(cell, &in_at, &out_at);
    oracle_fill(mine, &c, kit_rank, 0, cell->count);
    /* This rank's part of a long vector, otherwise all of it. */
    const int parted = !loose && cell->count >= LONG;
    const size_t from_element = parted ? cell->count * (size_t)kit_rank / (size_t)kit_size : 0,
                 to_element = parted ? cell->count * (size_t)(kit_rank + 1) / (size_t)kit_size : cell->count,
                 part = to_element - from_element;
    kit_expect(want, &c, kit_size, from_element, part);
    void *to = kit_put(&out, out_at, cell->in_place ? mine : NULL, bytes);
    const void *from = cell->in_place ? MPI_IN_PLACE : kit_put(&in, in_at, mine, bytes);
    int error = MPI_Allreduce(from, to, (int)cell->count, handle->type, kit_op(cell->pair->op), comm);
    cells++;
    if (error != MPI_SUCCESS && loose) {
        unknown++;
        const int refusal = kit_refusal(handle->type, kit_op(cell->pair->op));
        CHECK(refusal != MPI_SUCCESS && refusal == kit_class(error), "%s: error class %d, on host memory %d", text,
              kit_class(error), refusal);
        return;
    }
    if (!CHECK(error == MPI_SUCCESS, "%s: error class %d", text, kit_class(error)))
        return;
    calls += cell->count > 0;
    int guards;
    char *got = kit_get(&out, &guards);
    CHECK(guards, "%s: bytes round the result were written", text);
    const char *looked = got + from_element * handle->size;
    size_t at = oracle_differ(handle->element, looked, want, part, loose);
    if (at < part) {
        oracle_text(a, sizeof a, handle->element, looked + at * handle->size);
        oracle_text(b, sizeof b, handle->element, want + at * handle->size);
        CHECK(0, "%s: element %zu is %s, not %s", text, from_element + at, a, b);
    }
    if (!loose)
        digest = oracle_digest(digest, handle->element, got, cell->count);
    if (parted)
        agree(text);
    if (!cell->in_place) {
        got = kit_get(&in, &guards);
        CHECK(guards && memcmp(got, mine, bytes) == 0, "%s: the contribution or bytes round it were written", text);
    }
}

static void product(size_t number, size_t n_counts, struct cell *cell)
{
    cell->pair = &kit_pairs[number % (size_t)kit_pair_count];
    number /= (size_t)kit_pair_count;
    cell->count = counts[number % n_counts];
    number /= n_counts;
    cell->in_place = number % 2;
    cell->alignment = (int)(number / 2 % ALIGNMENTS);
    cell->seed = random_mix(kit_seed ^ (uint64_t)cells);
    if (cell->count > 65536 && cell->seed >> 1 & 3) /* one in four: they cost as much as all the others */
        cell->count = 8209;
    cell->mode = loose || cell->seed & 1 ? ORACLE_PLAIN : ORACLE_HARD;
}

static size_t divisor(size_t a, size_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* `many` cells of the product: a walk by a stride that is prime to its size reaches all and spreads evenly. */
static void walk(size_t n_counts, size_t many)
{
    size_t all = (size_t)kit_pair_count * n_counts * 2 * ALIGNMENTS;
    size_t stride = (size_t)((double)all * 0.6180339887498949), at = random_mix(kit_seed + (uint64_t)cells) % all;
    while (divisor(stride, all) != 1)
        stride++;
    if (many > all)
        many = all;
    for (size_t i = 0; i < many; i++) {
        struct cell cell;
        product(at, n_counts, &cell);
        run(&cell);
        at = (at + stride) % all;
        if (i % 128 == 127) {
            agree(algorithm);
            reopen(in.room);
        }
    }
}

static void large(void)
{
    static const int types[] = {TUTTI_TYPE_F64, TUTTI_TYPE_I8, TUTTI_TYPE_F32, TUTTI_TYPE_F64_I32};
    static const size_t sizes[] = {700001, 3 << 20, 1 << 20, 300007};
    static int turns;
    const int every = (int)check_every("TUTTI_TEST_EVERY", 1), turn = kit_size + turns++;
    for (int i = 0; i < 4; i++) {
        const struct kit_handle *handle = kit_handle_of(types[i]);
        if (!handle || (i + turn) % every != 0)
            continue;
        struct kit_pair pair = {handle, types[i] == TUTTI_TYPE_F64_I32 ? TUTTI_OP_MAXLOC : TUTTI_OP_SUM};
        struct cell cell = {&pair, sizes[i], i % 2, i, loose ? ORACLE_PLAIN : ORACLE_HARD, random_mix(kit_seed + 99)};
        reopen(sizes[i] * handle->size);
        run(&cell);
        agree(algorithm);
    }
}

/* Once through the product, or CELLS of it. */
static void look(const char *how_many)
{
    int small = strcmp(how_many, "small") == 0;
    uint64_t before = kit_counted("MPI_Allreduce", ""), as_expected = 0;
    char under[64];
    const char *expect = getenv("TUTTI_TEST_EXPECT");
    if (*algorithm) {
        snprintf(under, sizeof under, "accelerated|%s", algorithm);
        expect = under;
    }
    if (expect && *expect)
        as_expected = kit_counted("MPI_Allreduce", expect);
    long first = cells;
    calls = unknown = agreements = 0;
    reopen((small ? counts[SMALL - 1] : counts[COUNTS - 1]) * LARGEST);
    walk(small ? SMALL : COUNTS, small ? SIZE_MAX : strtoul(how_many, NULL, 10));
    if (!small)
        large();
    agree(algorithm);
    if (small)
        CHECK(cells - first >= 40000, "only %ld cells", cells - first);

    if (expect && *expect && !kit_plain) {
        uint64_t counted = kit_counted("MPI_Allreduce", expect) - as_expected,
                 all = kit_counted("MPI_Allreduce", "") - before;
        const long share = check_setting("TUTTI_TEST_SHARE", 100);
        /* Over nodes an agreement, on host memory, is counted as the calls before it until the ranks know that it is.
         */
        const uint64_t least = (uint64_t)(calls * share / 100),
                       most = (uint64_t)(calls + (share < 100 ? agreements : 0));
        CHECK(counted >= least && counted <= most,
              "%ld calls with elements on device memory, %llu counted as %s, %llu in all", calls,
              (unsigned long long)counted, expect, (unsigned long long)all);
    }
    if (kit_rank == 0) {
        printf("matrix: %s%s%d handles, %d pairs, %ld cells", algorithm, *algorithm ? ": " : "", kit_handle_count,
               kit_pair_count, cells - first);
        printf(unknown ? ", %ld not known to the MPI\n" : "\n", unknown);
    }
}

/* The same for each algorithm of a list. */
static void look_at_each(const char *how_many, char *algorithms)
{
    char *rest = algorithms, rules[64], wrong[256];
    while ((algorithm = strsep(&rest, ",")) != NULL) {
        snprintf(rules, sizeof rules, "allreduce: *@%s", algorithm);
        if (!CHECK(tutti_rules_set(rules, wrong, sizeof wrong) == 0, "rules '%s': %s", rules, wrong))
            return;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        look(how_many);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    loose = kit_plain || check_setting("TUTTI_TEST_LOOSE", 0);
    comm = MPI_COMM_WORLD;
    if (argc <= 2)
        look(argc > 1 ? argv[1] : "1000");
    for (int i = 1; i + 1 < argc; i += 2)
        look_at_each(argv[i], argv[i + 1]);
    kit_close(&in);
    kit_close(&out);
    return kit_end("matrix");
}
