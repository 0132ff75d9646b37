/* Every reduction, reducescatter and scan x every type x counts x teams, in place too, against the oracle of the
 * reductions: the same bits. TUTTI_TEST_EVERY: every so-manieth row, others each time that the test runs.
 * TUTTI_TEST_TURNS: the counts of a row take turns from team to team, so that each team has a share of them. */
#include "core/status.h"
#include "shmem/on_stream.h"
#include "shmem/teams_of.h"
#include "support/oracle.h"

typedef int run_fn(tshmem_team_t team, void *dest, const void *source, size_t n);

#define RUN(name, type, call)                                                                                          \
    static int run_##name##_##call(tshmem_team_t team, void *dest, const void *source, size_t n)                       \
    {                                                                                                                  \
        return IN_ORDER(tshmem_##name##_##call, team, (type *)dest, (const type *)source, n);                          \
    }
#define BOTH(name, type, op)          RUN(name, type, op##_reduce) RUN(name, type, op##_reducescatter)
#define BITS(name, type, kind, what)  BOTH(name, type, and) BOTH(name, type, or) BOTH(name, type, xor)
#define ORDER(name, type, kind, what) BOTH(name, type, max) BOTH(name, type, min)
#define ARITH(name, type, kind, what)                                                                                  \
    BOTH(name, type, sum) BOTH(name, type, prod) RUN(name, type, sum_inscan) RUN(name, type, sum_exscan)
TSHMEM_BITS(BITS, )
TSHMEM_RMA(ORDER, )
TSHMEM_ARITH(ARITH, )

enum shape { REDUCE, REDUCESCATTER, INSCAN, EXSCAN };
static const struct row {
    const char *name;
    int type, op; /* of the oracle; type -1: long double */
    enum shape shape;
    size_t size;
    run_fn *run;
} rows[] = {
#define TYPE(type, kind) (TSHMEM_ID_##kind(type) == TSHMEM_ID_LONGDOUBLE ? -1 : (int)TSHMEM_ID_##kind(type))
#define ROW(name, type, kind, call, op, shape)                                                                         \
    {#name "_" #call, TYPE(type, kind), op, shape, sizeof(type), run_##name##_##call},
#define ROWS(name, type, kind, op, id)                                                                                 \
    ROW(name, type, kind, op##_reduce, id, REDUCE) ROW(name, type, kind, op##_reducescatter, id, REDUCESCATTER)
#define BITS_ROWS(name, type, kind, what)                                                                              \
    ROWS(name, type, kind, and, TUTTI_OP_BAND)                                                                         \
    ROWS(name, type, kind, or, TUTTI_OP_BOR) ROWS(name, type, kind, xor, TUTTI_OP_BXOR)
#define ORDER_ROWS(name, type, kind, what)                                                                             \
    ROWS(name, type, kind, max, TUTTI_OP_MAX) ROWS(name, type, kind, min, TUTTI_OP_MIN)
#define ARITH_ROWS(name, type, kind, what)                                                                             \
    ROWS(name, type, kind, sum, TUTTI_OP_SUM)                                                                          \
    ROWS(name, type, kind, prod, TUTTI_OP_PROD)                                                                        \
    ROW(name, type, kind, sum_inscan, TUTTI_OP_SUM, INSCAN) ROW(name, type, kind, sum_exscan, TUTTI_OP_SUM, EXSCAN)
    TSHMEM_BITS(BITS_ROWS, ) TSHMEM_RMA(ORDER_ROWS, ) TSHMEM_ARITH(ARITH_ROWS, )};
enum { COUNT = sizeof rows / sizeof rows[0], MOST = 400, PES = 8, GUARD = 64, ROOM = MOST * PES * 16 + GUARD };

static char *source, *dest; /* symmetric */
static char inputs[PES][ROOM], expected[ROOM], seen[ROOM];

/* What the PE of the world of that number brings. */
static void fill(const struct row *row, const struct oracle_case *c, int world, void *out, size_t n)
{
    memset(out, 0, ROOM);
    if (row->type >= 0) {
        oracle_fill(out, c, world, 0, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const long double value = (long double)(int)(shmem_draw(c->seed, (uint64_t)world, i) % 17) - 8;
        memcpy((char *)out + i * sizeof value, &value, 10);
    }
}

static void reduce_long_double(int op, int ranks, const void *const in[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        long double all = 0;
        for (int r = 0; r < ranks; r++) {
            long double x;
            memcpy(&x, (const char *)in[r] + i * sizeof x, sizeof x);
            if (r == 0)
                all = x;
            else if (op == TUTTI_OP_SUM)
                all = all + x;
            else if (op == TUTTI_OP_PROD)
                all = all * x;
            else if (op == TUTTI_OP_MIN)
                all = x < all ? x : all;
            else
                all = x > all ? x : all;
        }
        memcpy(expected + i * sizeof all, &all, 10);
    }
}

static void one(const struct row *row, tshmem_team_t team, size_t n, int in_place, uint64_t seed)
{
    const int size = tshmem_team_n_pes(team), me = tshmem_team_my_pe(team);
    const struct oracle_case c = {.type = row->type, .op = row->op, .mode = ORACLE_HARD, .seed = seed};
    const size_t in_n = row->shape == REDUCESCATTER ? n * (size_t)size : n;
    const int ranks = row->shape == INSCAN ? me + 1 : row->shape == EXSCAN ? me : size;
    const void *in[PES];
#ifndef SHMEM_ON_STREAM
    in_place &= row->shape != REDUCESCATTER;
#endif
    for (int i = 0; i < size; i++) {
        fill(row, &c, teams_world(team, i), inputs[i], in_n);
        in[i] = inputs[i] + (row->shape == REDUCESCATTER ? (size_t)me * n * row->size : 0);
    }
    char *to = in_place ? source : dest;
    shmem_set(to, 0x5a, ROOM);
    memset(expected, 0, n * row->size);
    memset(expected + n * row->size, 0x5a, GUARD);
    shmem_store(source, inputs[me], in_n * row->size);
    const size_t blocks = in_place && row->shape == REDUCESCATTER ? (in_n - n) * row->size : 0; /* the others' stay */
    memcpy(expected + n * row->size, inputs[me] + n * row->size, blocks < GUARD ? blocks : GUARD);
    if (row->type < 0)
        reduce_long_double(row->op, ranks, in, n);
    else if (ranks > 0)
        oracle_reduce(expected, &c, ranks, in, n);
#ifdef SHMEM_ON_STREAM
    if (row->type < 0) { /* no kernel has long double */
        shmem_hush_begin();
        CHECK(row->run(team, to, source, n) == TUTTI_ERR_ARGUMENT && tshmem_error() == TUTTI_ERR_ARGUMENT, "%s",
              row->name);
        shmem_hush_end();
        return;
    }
#endif
    CHECK(row->run(team, to, source, n) == 0, "%s", row->name);
    shmem_load(seen, to, ROOM);
    const size_t at = row->type < 0 ? (memcmp(seen, expected, n * row->size) == 0 ? n : 0)
                                    : oracle_differ(row->type, seen, expected, n, 0);
    CHECK(at == n, "%s of %zu on %d PEs%s: element %zu", row->name, n, size, in_place ? " in place" : "", at);
    CHECK(memcmp(seen + n * row->size, expected + n * row->size, GUARD) == 0, "%s of %zu stored beyond", row->name, n);
    tshmem_sync(team); /* nobody fills while another reads */
}

#ifdef SHMEM_ON_STREAM
static void errors(void)
{
    int *const to = (int *)(void *)dest, *const from = (int *)(void *)source;
    shmem_hush_begin();
    CHECK(tutti_shmem_reduce_on_stream(TSHMEM_TEAM_WORLD, dest, source, 1, TSHMEM_ID_FLOAT, TSHMEM_OP_AND, on_stream) <
              0,
          "and of floats");
    CHECK(tshmem_int_sum_reduce_on_stream(TSHMEM_TEAM_WORLD, to, (int *)(void *)inputs, 1, on_stream) < 0,
          "not symmetric");
    CHECK(tshmem_int_sum_reduce_on_stream(TSHMEM_TEAM_WORLD, to, from, SIZE_MAX / 2, on_stream) < 0, "long");
    CHECK(tshmem_int_sum_reduce_on_stream(60, to, from, 1, on_stream) < 0, "no team");
    CHECK(tshmem_error() < 0, "kept");
    shmem_hush_end();
    CHECK(tshmem_sync_on_stream(TSHMEM_TEAM_WORLD, on_stream) == 0 && tutti_stream_sync(on_stream) == 0, "all goes on");
    CHECK(tshmem_error() == 0, "nothing else");
}
#else
static void errors(void)
{
    shmem_hush_begin();
    CHECK(tutti_shmem_reduce(TSHMEM_TEAM_WORLD, dest, source, 1, TSHMEM_ID_FLOAT, TSHMEM_OP_AND) < 0, "and of floats");
    CHECK(tutti_shmem_reduce(TSHMEM_TEAM_WORLD, dest, source, 1, TSHMEM_ID_LONGDOUBLE, TSHMEM_OP_OR) < 0, "or");
    CHECK(tutti_shmem_reduce(TSHMEM_TEAM_WORLD, dest, source, 1, 99, TSHMEM_OP_SUM) < 0, "no type");
    CHECK(tshmem_int_sum_reduce(TSHMEM_TEAM_WORLD, (int *)(void *)dest, (int *)(void *)inputs, 1) < 0, "not symmetric");
    CHECK(tshmem_int_sum_reduce(TSHMEM_TEAM_WORLD, (int *)(void *)dest, (int *)(void *)source, SIZE_MAX / 2) < 0,
          "long");
    if (tshmem_n_pes() > 1) { /* unequal PEs: all are told, and none waits */
        const size_t n = tshmem_my_pe() == 0 ? 2 : 1;
        CHECK(tshmem_int_sum_reduce(TSHMEM_TEAM_WORLD, (int *)(void *)dest, (int *)(void *)source, n) < 0, "counts");
        CHECK((tshmem_my_pe() == 0 ? tshmem_int_max_reduce : tshmem_int_min_reduce)(
                  TSHMEM_TEAM_WORLD, (int *)(void *)dest, (int *)(void *)source, 1) < 0,
              "operators");
        CHECK((tshmem_my_pe() == 0 ? tshmem_int_fcollect : tshmem_int_max_reduce)(
                  TSHMEM_TEAM_WORLD, (int *)(void *)dest, (int *)(void *)source, 1) < 0,
              "other calls");
    }
    tshmem_error();
    shmem_hush_end();
    CHECK(tshmem_sync(TSHMEM_TEAM_WORLD) == 0, "and all goes on");
}
#endif

void shmem_test(void)
{
    static const size_t counts[] = {0, 1, 3, 64, 129, MOST};
    static size_t first;
    const size_t every = (size_t)check_every("TUTTI_TEST_EVERY", 1),
                 turns = (size_t)check_setting("TUTTI_TEST_TURNS", 1);
    tshmem_team_t teams[TEAMS];
    source = tshmem_malloc(ROOM);
    dest = tshmem_malloc(ROOM);
    if (!CHECK(source && dest && tshmem_n_pes() <= PES, "memory") || !CHECK(order_begin(), "a stream"))
        return;
    teams_make(teams);
    for (size_t r = first++ % every; r < COUNT; r += every) {
        for (int t = 0; t < TEAMS; t++) {
            const uint64_t draw = shmem_draw(check_seed(), r, (uint64_t)t);
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                if (teams[t] != TSHMEM_TEAM_INVALID && (c + r + (size_t)t) % turns == 0)
                    one(&rows[r], teams[t], counts[c], (draw >> c & 1) != 0, draw);
            }
        }
    }
    teams_free(teams);
    errors();
    order_end();
    tshmem_free(source);
    tshmem_free(dest);
}
