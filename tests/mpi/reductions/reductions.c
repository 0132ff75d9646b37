/* All blocking reductions x all legal pairs of type and operator, half precision too, x counts x in place or not x
 * roots x segments of equal, unequal and no length x alignments x both widths of counts x memory (device everywhere,
 * host everywhere, mixed over ranks and arguments), against the oracle: bit for bit where Tutti reduces. What a call
 * may not touch is looked at: guard bytes, contributions, the result buffer of ranks that get nothing.
 *
 *   reductions CELLS [CALL]   that many cells spread evenly over the whole product; of MPI_CALL alone
 *
 * TUTTI_TEST_EXPECT=NAME: calls with device memory everywhere must have been counted so (accelerated|ll).
 * TUTTI_TEST_LOOSE=1: the MPI does the work, in an order of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"
#include "kit.h"
#include "tutti/mpix.h"

static const size_t counts[] = {1, 2, 3, 7, 16, 17, 63, 65, 255, 257, 1000, 1025, 4097, 20011};
enum { COUNTS = sizeof counts / sizeof *counts, ALIGNMENTS = 5, LARGEST = 16, RANKS = 64, PAIRS = 4096 };
enum memory { DEVICE, HOST, MIXED, MEMORIES };
static const char *const memory_names[MEMORIES] = {"device", "host", "mixed"};

struct cell {
    enum family_call call;
    const struct kit_pair *pair;
    size_t count; /* of one contribution */
    int segment[RANKS];
    int root, in_place, alignment, large, own; /* own: Tutti's type */
    enum memory memory;
    uint64_t seed;
};

static struct kit_buffer in[2], out[2]; /* by kind */
static char *mine, *want;
static size_t room;
static int loose, only = -1, pairs, crashes_in_place;
static struct kit_pair pair_list[PAIRS];
static struct kit_handle halves[2];
static long cells, calls[FAMILY_CALLS], unknown;

static void reopen(size_t bytes)
{
    for (int kind = 0; kind < 2; kind++) {
        if (in[kind].base) {
            kit_close(&in[kind]);
            kit_close(&out[kind]);
        }
        kit_open(&in[kind], (enum kit_kind)kind, bytes);
        kit_open(&out[kind], (enum kit_kind)kind, bytes);
    }
    if (bytes > room) {
        free(mine);
        free(want);
        mine = malloc(bytes);
        want = malloc(bytes);
        room = bytes;
    }
}

/* What this rank gets: elements of the reduced vector, and of how many ranks. */
static size_t results(const struct cell *cell, size_t *begin, int *depth)
{
    size_t n = cell->count;
    *begin = 0;
    *depth = kit_size;
    switch (cell->call) {
    case FAMILY_REDUCE:
        return kit_rank == cell->root ? n : 0;
    case FAMILY_REDUCE_SCATTER:
    case FAMILY_REDUCE_SCATTER_BLOCK:
        for (int r = 0; r < kit_rank; r++)
            *begin += (size_t)cell->segment[r];
        return (size_t)cell->segment[kit_rank];
    case FAMILY_SCAN:
        *depth = kit_rank + 1;
        return n;
    case FAMILY_EXSCAN:
        *depth = kit_rank;
        return kit_rank ? n : 0;
    default:
        return n;
    }
}

static void expected(const struct cell *cell, const struct oracle_case *c, size_t begin, size_t n, int depth)
{
    int both[2] = {kit_rank, kit_rank + 1};
    if (cell->call == FAMILY_REDUCE_LOCAL)
        kit_expect_of(want, c, 2, both, 0, n);
    else if (n && (cell->call == FAMILY_SCAN || cell->call == FAMILY_EXSCAN))
        kit_expect_scan(want, c, depth, begin, n);
    else if (n)
        kit_expect(want, c, depth, begin, n);
}

static void run(const struct cell *cell)
{
    const struct kit_handle *handle = cell->pair->handle;
    size_t size = handle->size, bytes = cell->count * size, begin;
    int exact = !loose && (cell->memory == DEVICE || cell->own), depth, guards;
    struct oracle_case c = kit_case(cell->pair, exact && cell->seed & 2 ? ORACLE_HARD : ORACLE_PLAIN, cell->seed);
    const size_t table[ALIGNMENTS][2] = {{0, 0}, {size, size}, {3 * size, 0}, {8, 4}, {1, 3}};
    size_t in_at = table[cell->alignment][0] % KIT_OFFSET, out_at = table[cell->alignment][1] % KIT_OFFSET;
    uint64_t own = cell->memory == MIXED ? random_mix(cell->seed + (uint64_t)kit_rank + 1) : 0;
    struct kit_buffer *from = &in[cell->memory == DEVICE ? KIT_DEVICE : own & 1];
    struct kit_buffer *to = &out[cell->memory == DEVICE ? KIT_DEVICE : own >> 1 & 1];
    size_t n = results(cell, &begin, &depth);
    int local = cell->call == FAMILY_REDUCE_LOCAL;
    int in_place = cell->in_place && !local && !(cell->call == FAMILY_REDUCE && kit_rank != cell->root);
    if (cell->call == FAMILY_REDUCE && cell->root && !exact && crashes_in_place)
        in_place &= to->kind == KIT_DEVICE && !kit_plain;
    char text[300], a[96], b[96];
    snprintf(text, sizeof text, "%s%s %s %s count %zu own %zu root %d alignment %d%s %s memory seed %llu",
             family_names[cell->call], cell->large ? "_c" : "", handle->name, oracle_op_name(cell->pair->op),
             cell->count, n, cell->root, cell->alignment, in_place ? " in place" : "", memory_names[cell->memory],
             (unsigned long long)cell->seed);

    oracle_fill(mine, &c, kit_rank, 0, cell->count);
    expected(cell, &c, begin, n, depth);
    /* Where nothing is to come the buffer is as large as the contribution, so that a result there would be seen. */
    size_t holds = in_place || n == 0 ? bytes : n * size;
    const void *given = in_place ? mine : NULL;
    char *second = NULL;
    if (local) {
        second = malloc(bytes);
        oracle_fill(second, &c, kit_rank + 1, 0, cell->count);
        given = second;
    }
    void *target = kit_put(to, out_at, given, holds);
    const void *source = in_place ? MPI_IN_PLACE : kit_put(from, in_at, mine, bytes);
    char *before = malloc(holds);
    memcpy(before, to->shadow + KIT_GUARD, holds);
    void *passed = target;
    if (cell->call == FAMILY_REDUCE && n == 0 && cell->seed & 4)
        passed = cell->seed & 8 ? NULL : (void *)(uintptr_t)(cell->seed | 1); /* not significant: anything */

    struct family f = {cell->call,
                       cell->large,
                       cell->call == FAMILY_REDUCE_SCATTER_BLOCK ? cell->segment[0] : (int)cell->count,
                       cell->segment,
                       cell->root,
                       handle->type,
                       kit_op(cell->pair->op),
                       MPI_COMM_WORLD};
    int error = family_run(&f, source, passed);
    cells++;
    if (error != MPI_SUCCESS && !exact) {
        unknown++;
        const int refusal = kit_refusal(handle->type, kit_op(cell->pair->op));
        CHECK(refusal != MPI_SUCCESS && refusal == kit_class(error), "%s: error class %d, on host memory %d", text,
              kit_class(error), refusal);
    } else if (CHECK(error == MPI_SUCCESS, "%s: error class %d", text, kit_class(error))) {
        calls[cell->call] += cell->memory == DEVICE;
        char *got = kit_get(to, &guards);
        CHECK(guards, "%s: bytes round the result were written", text);
        size_t at = oracle_differ(handle->element, got, want, n, !exact);
        if (at < n) {
            oracle_text(a, sizeof a, handle->element, got + at * size);
            oracle_text(b, sizeof b, handle->element, want + at * size);
            CHECK(0, "%s: element %zu is %s, not %s", text, at, a, b);
        }
        /* What an MPI does behind the result of a call in place is its own affair. */
        int scatter = cell->call == FAMILY_REDUCE_SCATTER || cell->call == FAMILY_REDUCE_SCATTER_BLOCK;
        if (n == 0 && !(scatter && in_place))
            CHECK(memcmp(got, before, holds) == 0, "%s: this rank gets nothing, but its buffer was written", text);
        if (!in_place) {
            got = kit_get(from, &guards);
            CHECK(guards && memcmp(got, mine, bytes) == 0, "%s: the contribution or bytes round it were written", text);
        }
    }
    free(before);
    free(second);
}

/* Segments of `count` elements in all: equal, all to one rank, none for some, or any. */
static void cut(struct cell *cell, size_t count, unsigned way)
{
    uint64_t random = random_mix(cell->seed + 77);
    size_t size = (size_t)kit_size, left = count;
    memset(cell->segment, 0, sizeof cell->segment);
    if (cell->call == FAMILY_REDUCE_SCATTER_BLOCK || way == 0) {
        for (size_t r = 0; r < size; r++)
            cell->segment[r] = (int)((count + size - 1) / size);
        cell->count = (count + size - 1) / size * size;
        return;
    }
    cell->count = count;
    if (way == 1) {
        cell->segment[random % size] = (int)count;
        return;
    }
    for (size_t r = 0; r + 1 < size; r++) {
        size_t some = way == 2 && (random >> r & 1) ? 0 : random_next(&random) % (left + 1);
        cell->segment[r] = (int)some;
        left -= some;
    }
    cell->segment[size - 1] = (int)left;
}

static void product(size_t number, struct cell *cell)
{
    uint64_t random = random_mix(kit_seed ^ (uint64_t)cells);
    cell->seed = random;
    cell->pair = &pair_list[number % (size_t)pairs];
    number /= (size_t)pairs;
    size_t count = counts[number % COUNTS];
    number /= COUNTS;
    cell->call = only >= 0 ? (enum family_call)only : (enum family_call)(number % FAMILY_CALLS);
    cell->in_place = (int)(random >> 20 & 1);
    cell->alignment = (int)((random >> 24) % ALIGNMENTS);
    cell->root = (int)((random >> 32) % (uint64_t)kit_size);
    cell->large = family_large() && (random >> 40) % 4 == 0;
    cell->memory = (random >> 44) % 3 ? DEVICE : (random >> 48) % 2 ? HOST : MIXED;
    cell->own = cell->pair->handle == &halves[0] || cell->pair->handle == &halves[1];
    cut(cell, count, (unsigned)(random >> 52) % 4);
}

static size_t divisor(size_t a, size_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* Collective: ranks stop together. */
static int too_many(size_t cell)
{
    long failed = check_failed();
    if (cell % 64)
        return 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    return failed > 50;
}

/* `many` cells of the product: a walk by a stride that is prime to its size reaches all and spreads evenly. */
static void walk(size_t many)
{
    size_t all = (size_t)pairs * COUNTS * FAMILY_CALLS;
    size_t stride = (size_t)((double)all * 0.6180339887498949), at = random_mix(kit_seed) % all;
    while (divisor(stride, all) != 1)
        stride++;
    for (size_t i = 0; i < many && !too_many(i); i++) {
        struct cell cell;
        product(at, &cell);
        run(&cell);
        at = (at + stride) % all;
        if (i % 256 == 255)
            reopen(in[0].room);
    }
}

static void longer(void)
{
    static const int types[] = {TUTTI_TYPE_F32, TUTTI_TYPE_I8, TUTTI_TYPE_F64};
    for (int call = 0; call < FAMILY_CALLS && !too_many(0); call++) {
        if (only >= 0 && call != only)
            continue;
        struct kit_pair pair = {kit_handle_of(types[call % 3]), TUTTI_OP_SUM};
        struct cell cell = {.call = (enum family_call)call,
                            .pair = &pair,
                            .root = kit_size - 1,
                            .in_place = call % 2,
                            .alignment = call % ALIGNMENTS,
                            .seed = random_mix(kit_seed + (uint64_t)call) | 2};
        cut(&cell, 300007, 3);
        reopen((cell.count + RANKS) * pair.handle->size);
        run(&cell);
    }
}

/* The end of a scan, both kinds of reduce-scatter put together, a reduce and an exscan reduced once more hold the bits
 * of the allreduce, each from its own buffers. */
static void same_bits(const struct kit_pair *pair, size_t n, uint64_t seed)
{
    const struct kit_handle *handle = pair->handle;
    size_t size = handle->size, all = n * (size_t)kit_size, bytes = all * size;
    struct oracle_case c = kit_case(pair, ORACLE_HARD, seed);
    struct cell cell = {.seed = seed, .call = FAMILY_REDUCE_SCATTER};
    uint64_t digest[FAMILY_CALLS] = {0};
    int last = kit_size - 1;
    char *whole = malloc(bytes), *part = malloc(bytes), *gathered = malloc(bytes);
    cut(&cell, all, 2);
    oracle_fill(mine, &c, kit_rank, 0, all);
    for (int call = 0; call < FAMILY_REDUCE_LOCAL; call++) {
        struct family f = {(enum family_call)call,
                           0,
                           call == FAMILY_REDUCE_SCATTER_BLOCK ? (int)n : (int)all,
                           cell.segment,
                           last,
                           handle->type,
                           kit_op(pair->op),
                           MPI_COMM_WORLD};
        void *to = kit_put(&out[KIT_DEVICE], 0, NULL, bytes);
        const void *from = kit_put(&in[KIT_DEVICE], 0, mine, bytes);
        int error = family_run(&f, from, to);
        if (call == FAMILY_EXSCAN && kit_rank == last && error == MPI_SUCCESS) {
            void *own = kit_put(&in[KIT_DEVICE], 0, mine, bytes);
            memcpy(part, kit_get(&out[KIT_DEVICE], NULL), bytes); /* lower ranks are the left operand */
            to = kit_put(&out[KIT_DEVICE], 0, part, bytes);
            error = MPI_Reduce_local(to, own, (int)all, handle->type, kit_op(pair->op));
            memcpy(part, kit_get(&in[KIT_DEVICE], NULL), bytes);
        } else {
            memcpy(part, kit_get(&out[KIT_DEVICE], NULL), bytes);
        }
        CHECK(error == MPI_SUCCESS, "%s of %zu %s: class %d", family_names[call], all, handle->name, kit_class(error));
        if (call == FAMILY_REDUCE_SCATTER || call == FAMILY_REDUCE_SCATTER_BLOCK) {
            int length[RANKS], place[RANKS], at = 0;
            for (int r = 0; r < kit_size; r++) {
                length[r] = (call == FAMILY_REDUCE_SCATTER ? cell.segment[r] : (int)n) * (int)size;
                place[r] = at;
                at += length[r];
            }
            MPI_Allgatherv(part, length[kit_rank], MPI_BYTE, gathered, length, place, MPI_BYTE, MPI_COMM_WORLD);
            memcpy(part, gathered, bytes);
        }
        if (call == FAMILY_ALLREDUCE)
            memcpy(whole, part, bytes);
        digest[call] = oracle_digest(1, handle->element, part, all);
        CHECK(kit_rank != last || digest[call] == digest[0], "%s of %zu %s by %s has other bits than MPI_Allreduce",
              family_names[call], all, handle->name, oracle_op_name(pair->op));
    }
    free(whole);
    free(part);
    free(gathered);
}

/* MPICH 4.0 crashes in MPI_Reduce of more than 2 KiB of host memory in place at a root other than 0. */
static void look_at_mpi(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(text, &length);
    crashes_in_place = strstr(text, "MPICH Version") != NULL;
}

static void list_pairs(void)
{
    for (int i = 0; i < kit_pair_count && pairs < PAIRS; i++)
        pair_list[pairs++] = kit_pairs[i];
    static const int ops[] = {TUTTI_OP_SUM, TUTTI_OP_PROD, TUTTI_OP_MIN, TUTTI_OP_MAX};
    for (int i = 0; i < 2 && !kit_plain && !check_setting("TUTTI_TEST_LOOSE", 0); i++) {
        halves[i] = (struct kit_handle){tutti_mpix_datatype(i), i ? "MPIX_C_BF16" : "MPIX_C_FLOAT16", TUTTI_GROUP_FLOAT,
                                        i ? TUTTI_TYPE_BF16 : TUTTI_TYPE_F16, 2};
        for (int op = 0; op < 32 && pairs < PAIRS; op++) /* as many times as another type has handles */
            pair_list[pairs++] = (struct kit_pair){&halves[i], ops[op % 4]};
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    loose = kit_plain || check_setting("TUTTI_TEST_LOOSE", 0);
    look_at_mpi();
    for (int call = 0; argc > 2 && call < FAMILY_CALLS; call++) {
        if (strcmp(family_names[call] + 4, argv[2]) == 0)
            only = call;
    }
    list_pairs();
    reopen((counts[COUNTS - 1] + RANKS) * LARGEST);
    walk(argc > 1 ? strtoul(argv[1], NULL, 10) : 1000);
    const char *expect = getenv("TUTTI_TEST_EXPECT");
    for (int call = 0; call < FAMILY_CALLS && expect && *expect && !kit_plain; call++) {
        const char *word = call == FAMILY_REDUCE_LOCAL ? "accelerated" : expect;
        unsigned long long counted = family_counted((enum family_call)call, word);
        CHECK(counted >= (unsigned long long)calls[call], "%s: %ld calls on device memory, %llu counted as %s",
              family_names[call], calls[call], counted, word);
    }
    longer();
    reopen((counts[COUNTS - 1] + RANKS) * LARGEST);
    for (int i = 0; i < kit_pair_count && !loose && only < 0 && kit_size > 1; i++) {
        const struct kit_pair *pair = &kit_pairs[i];
        if (kit_handle_of(pair->handle->element) == pair->handle && oracle_floating(pair->handle->element) &&
            !too_many(0))
            same_bits(pair, (size_t)(i % 3 ? 257 : 5000 / kit_size), random_mix(kit_seed + (uint64_t)i));
    }
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&in[kind]);
        kit_close(&out[kind]);
    }
    if (kit_rank == 0)
        printf("reductions: %d pairs, %ld cells, %ld not known to the MPI\n", pairs, cells, unknown);
    return kit_end("reductions");
}
