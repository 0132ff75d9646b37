/* Broadcast, collect, fcollect, alltoall and alltoalls x every type x counts x teams x roots, against plain copies.
 * TUTTI_TEST_EVERY: every so-manieth type, others each time that the test runs. */
#include "core/status.h"
#include "shmem/on_stream.h"
#include "shmem/teams_of.h"

enum call { BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, CALLS };
static const char *const call_names[] = {"broadcast", "collect", "fcollect", "alltoall", "alltoalls"};
enum { MOST = 40, PES = 8, DST = 3, SST = 2, ROOM = MOST * PES * DST * 16 + 64 };

struct job {
    tshmem_team_t team;
    void *dest;
    const void *source;
    size_t n;
    int root;
};
#define RUN(name, type, kind, what)                                                                                    \
    static int run_##name(enum call call, const struct job *j)                                                         \
    {                                                                                                                  \
        type *dest = j->dest;                                                                                          \
        const type *source = j->source;                                                                                \
        switch (call) {                                                                                                \
        case BROADCAST:                                                                                                \
            return IN_ORDER(tshmem_##name##_broadcast, j->team, dest, source, j->n, j->root);                          \
        case COLLECT:                                                                                                  \
            return IN_ORDER(tshmem_##name##_collect, j->team, dest, source, j->n);                                     \
        case FCOLLECT:                                                                                                 \
            return IN_ORDER(tshmem_##name##_fcollect, j->team, dest, source, j->n);                                    \
        case ALLTOALL:                                                                                                 \
            return IN_ORDER(tshmem_##name##_alltoall, j->team, dest, source, j->n);                                    \
        default:                                                                                                       \
            return IN_ORDER(tshmem_##name##_alltoalls, j->team, dest, source, DST, SST, j->n);                         \
        }                                                                                                              \
    }
TSHMEM_RMA(RUN, )
static int run_mem(enum call call, const struct job *j)
{
    switch (call) {
    case BROADCAST:
        return IN_ORDER(tshmem_broadcastmem, j->team, j->dest, j->source, j->n, j->root);
    case COLLECT:
        return IN_ORDER(tshmem_collectmem, j->team, j->dest, j->source, j->n);
    case FCOLLECT:
        return IN_ORDER(tshmem_fcollectmem, j->team, j->dest, j->source, j->n);
    default:
        return IN_ORDER(tshmem_alltoallmem, j->team, j->dest, j->source, j->n);
    }
}

static const struct type {
    const char *name;
    size_t size;
    int (*run)(enum call call, const struct job *j);
} types[] = {
#define ROW(name, type, kind, what) {#name, sizeof(type), run_##name},
    TSHMEM_RMA(ROW, ){"mem", 1, run_mem}};
enum { TYPES = sizeof types / sizeof types[0] };

static char *source, *dest; /* symmetric */
static char theirs[PES][ROOM], expected[ROOM], own[ROOM];

static size_t count_of(enum call call, size_t n, int member, uint64_t round)
{
    return call == COLLECT ? shmem_draw(round, 77, (uint64_t)member) % (n + 1) : n;
}

static void expect(enum call call, const struct job *j, size_t size, uint64_t round)
{
    const int members = tshmem_team_n_pes(j->team), me = tshmem_team_my_pe(j->team);
    size_t at = 0;
    for (int i = 0; i < members; i++) {
        const size_t n = count_of(call, j->n, i, round);
        switch (call) {
        case BROADCAST:
            memcpy(expected, theirs[j->root], n * size);
            break;
        case COLLECT:
        case FCOLLECT:
            memcpy(expected + at, theirs[i], n * size);
            at += n * size;
            break;
        case ALLTOALL:
            memcpy(expected + (size_t)i * n * size, theirs[i] + (size_t)me * n * size, n * size);
            break;
        default:
            for (size_t k = 0; k < n; k++)
                memcpy(expected + ((size_t)i * n + k) * DST * size, theirs[i] + ((size_t)me * n + k) * SST * size,
                       size);
        }
    }
}

static void one(const struct type *type, enum call call, tshmem_team_t team, size_t n, int root, uint64_t round)
{
    struct job j = {.team = team, .dest = dest, .source = source, .n = n, .root = root};
    const int me = tshmem_team_my_pe(team);
    for (int i = 0; i < tshmem_team_n_pes(team); i++)
        shmem_fill(theirs[i], ROOM, shmem_draw(round, 1, (uint64_t)i));
    shmem_fill(own, ROOM, shmem_draw(round, 1, (uint64_t)me));
    shmem_fill(expected, ROOM, shmem_draw(round, 2, (uint64_t)me));
    shmem_store(source, own, ROOM);
    shmem_store(dest, expected, ROOM);
    if (call == BROADCAST && round % 3 == 0) { /* in place */
        memcpy(expected, own, ROOM);
        j.dest = source;
    }
    expect(call, &j, type->size, round);
    j.n = count_of(call, n, me, round);
    CHECK(type->run(call, &j) == 0, "%s_%s", type->name, call_names[call]);
    CHECK(shmem_holds(j.dest, expected, ROOM), "%s_%s of %zu from %d in a team of %d", type->name, call_names[call], n,
          root, tshmem_team_n_pes(team));
    tshmem_sync(team);
}

#ifdef SHMEM_ON_STREAM
static void errors(void)
{
    int *const a = (int *)(void *)dest, *const b = (int *)(void *)source;
    shmem_hush_begin();
    CHECK(tshmem_int_broadcast_on_stream(TSHMEM_TEAM_WORLD, a, b, 1, tshmem_n_pes(), on_stream) < 0, "no such root");
    CHECK(tshmem_int_fcollect_on_stream(TSHMEM_TEAM_WORLD, a, (int *)(void *)theirs, 1, on_stream) < 0,
          "not symmetric");
    CHECK(tshmem_int_collect_on_stream(TSHMEM_TEAM_WORLD, a, b, SIZE_MAX / 4, on_stream) < 0, "more than the heap has");
    CHECK(tshmem_int_alltoall_on_stream(TSHMEM_TEAM_WORLD, a, b, SIZE_MAX / 4 + 1, on_stream) < 0, "much more");
    CHECK(tshmem_int_alltoalls_on_stream(TSHMEM_TEAM_WORLD, a, b, 0, 1, 1, on_stream) < 0, "no stride");
    CHECK(tshmem_barrier_on_stream(44, on_stream) < 0, "no team");
    CHECK(tshmem_error() < 0, "kept");
    shmem_hush_end();
    CHECK(tshmem_collectmem_on_stream(TSHMEM_TEAM_WORLD, NULL, NULL, 0, on_stream) == 0 &&
              tshmem_fcollectmem_on_stream(TSHMEM_TEAM_WORLD, NULL, NULL, 0, on_stream) == 0 &&
              tshmem_alltoallmem_on_stream(TSHMEM_TEAM_WORLD, NULL, NULL, 0, on_stream) == 0 &&
              tshmem_broadcastmem_on_stream(TSHMEM_TEAM_WORLD, NULL, NULL, 0, 0, on_stream) == 0,
          "of nothing");
    CHECK(tshmem_barrier_all_on_stream(on_stream) == 0 && tutti_stream_sync(on_stream) == 0, "and all goes on");
    CHECK(tshmem_error() == 0, "nothing else");
}
#else
static void errors(void)
{
    int *a = (int *)(void *)dest, *b = (int *)(void *)source;
    shmem_hush_begin();
    CHECK(tshmem_int_broadcast(TSHMEM_TEAM_WORLD, a, b, 1, tshmem_n_pes()) < 0, "a root that is not there");
    CHECK(tshmem_int_alltoalls(TSHMEM_TEAM_WORLD, a, b, 0, 1, 1) < 0, "no stride");
    CHECK(tshmem_int_fcollect(TSHMEM_TEAM_WORLD, a, (int *)(void *)theirs, 1) < 0, "not symmetric");
    CHECK(tshmem_int_collect(TSHMEM_TEAM_WORLD, a, b, (size_t)1 << 40) < 0, "more than the heap has");
    if (tshmem_n_pes() > 1) {
        CHECK(tshmem_int_collect(TSHMEM_TEAM_WORLD, tshmem_my_pe() == 0 ? NULL : a, b, tshmem_my_pe() != 0) < 0,
              "nowhere to put what others bring");
        CHECK((tshmem_my_pe() == 0 ? tshmem_sync(TSHMEM_TEAM_WORLD)
                                   : tshmem_int_fcollect(TSHMEM_TEAM_WORLD, a, b, 1)) == TUTTI_ERR_MISMATCH,
              "sync beside another call");
        CHECK((tshmem_my_pe() == 0 ? tshmem_barrier(TSHMEM_TEAM_WORLD) : tshmem_sync(TSHMEM_TEAM_WORLD)) ==
                  TUTTI_ERR_MISMATCH,
              "barrier beside sync");
        CHECK(tshmem_int_broadcast(TSHMEM_TEAM_WORLD, a, b, 1, tshmem_my_pe() == 0) < 0, "two roots");
        CHECK(tshmem_int_fcollect(TSHMEM_TEAM_WORLD, a + (tshmem_my_pe() == 0), b, 1) < 0, "two targets");
    }
    tshmem_error();
    shmem_hush_end();
    CHECK(tshmem_sync(TSHMEM_TEAM_WORLD) == 0, "and all goes on");
}
#endif

void shmem_test(void)
{
    static const size_t counts[] = {0, 1, 5, MOST};
    static size_t first;
    const size_t every = (size_t)check_every("TUTTI_TEST_EVERY", 1);
    tshmem_team_t teams[TEAMS];
    uint64_t round = 0;
    source = tshmem_malloc(ROOM);
    dest = tshmem_malloc(ROOM);
    if (!CHECK(source && dest && tshmem_n_pes() <= PES, "memory") || !CHECK(order_begin(), "a stream"))
        return;
    teams_make(teams);
    for (size_t t = first++ % every; t < TYPES; t += every) {
        for (int call = 0; call < CALLS - (types[t].run == run_mem); call++) {
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                for (int k = 0; k < TEAMS; k++) {
                    round++;
                    if (teams[k] != TSHMEM_TEAM_INVALID)
                        one(&types[t], (enum call)call, teams[k], counts[c],
                            (int)(round % (uint64_t)tshmem_team_n_pes(teams[k])), round);
                }
            }
        }
    }
    teams_free(teams);
    errors();
    order_end();
    tshmem_free(source);
    tshmem_free(dest);
}
