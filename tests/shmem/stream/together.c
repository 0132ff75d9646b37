/* Many teams' collectives in streams at once, each team's in a stream of its own, put there in another order by every
 * PE. Some of the teams have channels, and there are more than can have one. They are made while a kernel of each PE
 * waits for what a peer does when it has made them. TUTTI_TEST_ROUNDS, TUTTI_TEST_SEED; TUTTI_TEST_LONGS: the longest
 * contribution, of which there are many on a GPU to take all its multiprocessors. */
#include <time.h>

#include "shmem/kit.h"

enum { TEAMS = 16, CALLS = 3 };

struct one {
    tshmem_team_t team;
    void *stream;
    uint64_t *source, *dest; /* symmetric; dest: a place for each member */
    size_t n;
    int start, stride, size;
};

static struct one all[TEAMS];
static uint64_t *host, *gate; /* gate: symmetric */
static void *waiting;
static size_t longs = 20000;

static void draw(uint64_t seed, int pes)
{
    for (int t = 0; t < TEAMS; t++) {
        struct one *o = &all[t];
        uint64_t dice = shmem_draw(seed, (uint64_t)t, 1);
        o->start = (int)(random_next(&dice) % (uint64_t)pes);
        o->stride = o->start == 0 || random_next(&dice) % 2 ? 1 : -1;
        const int most = o->stride > 0 ? pes - o->start : o->start + 1;
        o->size = most < 2 ? 1 : 2 + (int)(random_next(&dice) % (uint64_t)(most - 1));
        o->n = 1 + random_next(&dice) % (random_next(&dice) % 2 ? longs : 200);
    }
}

static uint64_t value(uint64_t seed, int t, int member, size_t i)
{
    return shmem_draw(seed, (uint64_t)t * 100 + (uint64_t)member, i);
}

static int put(const struct one *o, int what)
{
    switch (what) {
    case 0:
        return tshmem_uint64_sum_reduce_on_stream(o->team, o->dest, o->source, o->n, o->stream);
    case 1:
        return tshmem_sync_on_stream(o->team, o->stream);
    default:
        return tshmem_uint64_fcollect_on_stream(o->team, o->dest + o->n, o->source, o->n, o->stream);
    }
}

static void look_at(uint64_t seed, int t)
{
    const struct one *o = &all[t];
    size_t wrong = 0;
    shmem_load(host, o->dest, (size_t)(o->size + 1) * o->n * sizeof *host);
    for (size_t i = 0; i < o->n; i++) {
        uint64_t sum = 0;
        for (int m = 0; m < o->size; m++) {
            const uint64_t part = value(seed, t, m, i);
            wrong += host[(size_t)(m + 1) * o->n + i] != part;
            sum += part;
        }
        wrong += host[i] != sum;
    }
    CHECK(wrong == 0, "seed %llu, team %d (%d PEs from %d, stride %d): %zu of %zu elements are wrong",
          (unsigned long long)seed, t, o->size, o->start, o->stride, wrong, o->n);
}

static void round_of(uint64_t seed)
{
    int order[TEAMS];
    const int pes = tshmem_n_pes();
    uint64_t dice = shmem_draw(seed, (uint64_t)tshmem_my_pe(), 2);
    draw(seed, pes);
    CHECK(tshmem_signal_wait_until_on_stream(gate, TSHMEM_CMP_EQ, seed, waiting) == 0, "a kernel that waits");
    for (int t = 0; t < TEAMS; t++) {
        struct one *o = &all[t];
        CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, o->start, o->stride, o->size, NULL, 0, &o->team) == 0,
              "team %d", t);
        order[t] = t;
        if (o->team == TSHMEM_TEAM_INVALID)
            continue;
        for (size_t i = 0; i < o->n; i++)
            host[i] = value(seed, t, tshmem_team_my_pe(o->team), i);
        shmem_store(o->source, host, o->n * sizeof *host);
    }
    tshmem_uint64_atomic_set(gate, seed, (tshmem_my_pe() + 1) % pes);
    tshmem_quiet();
    CHECK(tutti_stream_sync(waiting) == 0, "the kernel that waits");
    for (int t = TEAMS - 1; t > 0; t--) {
        const int other = (int)(random_next(&dice) % (uint64_t)(t + 1)), was = order[t];
        order[t] = order[other];
        order[other] = was;
    }
    tshmem_barrier_all();
    if (random_next(&dice) % 2)
        nanosleep(&(const struct timespec){0, (long)(random_next(&dice) % 3000000)}, NULL);
    for (int t = 0; t < TEAMS; t++) {
        const struct one *o = &all[order[t]];
        for (int call = 0; o->team != TSHMEM_TEAM_INVALID && call < CALLS; call++)
            CHECK(put(o, call) == 0, "seed %llu, team %d: call %d", (unsigned long long)seed, order[t], call);
    }
    for (int t = 0; t < TEAMS; t++)
        CHECK(tutti_stream_sync(all[t].stream) == 0, "the stream of team %d", t);
    CHECK(tshmem_error() == 0, "seed %llu: an error", (unsigned long long)seed);
    for (int t = 0; t < TEAMS; t++) {
        if (all[t].team != TSHMEM_TEAM_INVALID)
            look_at(seed, t);
    }
    for (int t = 0; t < TEAMS; t++) {
        if (all[t].team != TSHMEM_TEAM_INVALID)
            tshmem_team_destroy(all[t].team);
    }
}

void shmem_test(void)
{
    const char *most = getenv("TUTTI_TEST_LONGS");
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 12);
    const uint64_t seed = check_seed();
    const size_t places = (size_t)tshmem_n_pes() + 1;
    gate = tshmem_calloc(1, sizeof *gate);
    if (tutti_stream_create(&waiting) != 0)
        return;
    longs = most ? (size_t)atol(most) : longs;
    host = malloc(places * longs * sizeof *host);
    for (int t = 0; t < TEAMS; t++) {
        all[t].source = tshmem_malloc(longs * sizeof *host);
        all[t].dest = tshmem_malloc(places * longs * sizeof *host);
        CHECK(host && all[t].source && all[t].dest, "memory");
        if (tutti_stream_create(&all[t].stream) != 0)
            return;
    }
    for (long round = 0; round < rounds && check_failed() == 0; round++)
        round_of(seed + (uint64_t)round);
    for (int t = 0; t < TEAMS; t++) {
        tutti_stream_destroy(all[t].stream);
        tshmem_free(all[t].dest);
        tshmem_free(all[t].source);
    }
    tutti_stream_destroy(waiting);
    tshmem_free(gate);
    free(host);
}
