/* Opened teams on the host device: which rank leads, windows, mapped buffers, stale names, limits.
 * usage: map_test forks|threads   (what ranks are; TUTTI_HOST_GPUS, TUTTI_CACHE_ENTRIES: as the caller likes;
 * TUTTI_TEST_ROUNDS: rounds of the stale test) */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/settings.h"
#include "kit.h"
#include "support/random.h"
#include "team/cache.h"
#include "tutti/tutti.h"

enum { BYTES = 20000 };

/* A process that has used a device is of no use to its forked children, so ranks are one or the other in one run. */
static int (*run)(int ranks, tutti_rank_main *rank_main, void *arg);

static int run_forks(int ranks, tutti_rank_main *rank_main, void *arg)
{
    return tutti_forks_run(ranks, rank_main, arg, NULL);
}

static uint32_t word(int rank, int round, int which)
{
    return (uint32_t)random_mix((uint64_t)rank << 40 ^ (uint64_t)round << 8 ^ (uint64_t)which);
}

static int holds(const void *device, uint32_t expected)
{
    uint32_t first = 0;
    return tutti_copy(&first, device, sizeof first) == 0 && first == expected;
}

static void put(void *device, uint32_t value)
{
    CHECK(tutti_copy(device, &value, sizeof value) == 0, "copy");
}

/* Arrives with both buffers shared, as an algorithm that maps does. */
static void arrive_with(struct tutti_team *team, const void *in, const void *out)
{
    CHECK(kit_meet(team, 10) == TUTTI_OK, "arrive");
    struct tutti_shares *mine = tutti_team_shares(team, team->rank);
    tutti_team_share(team, in, &mine->in);
    tutti_team_share(team, out, &mine->out);
    uint32_t all;
    CHECK(tutti_team_vote(team, 1, &all) == TUTTI_OK, "vote");
}

static int open_all(struct kit *kit, struct tutti_transport *transport)
{
    if (!kit_open(transport, kit))
        return 0;
    CHECK(kit_meet(kit->team, 1) == TUTTI_OK, "arrive");
    CHECK(tutti_team_open(kit->team, -1) == TUTTI_OK, "open");
    return CHECK(kit->team->state == TUTTI_TEAM_OPEN, "rank %d: not open: %s", transport->rank, kit->team->why);
}

/* Every field against what follows from node ranks and the number of GPUs; windows by what they hold. */
static int fields(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    long gpus = tutti_settings()->host_gpus;
    (void)arg;
    if (!open_all(&kit, transport))
        return 1;
    struct tutti_team *team = kit.team;
    int most = gpus > 0 && gpus < team->size ? (int)gpus : team->size;
    size_t at = sizeof(struct tutti_channel_flags);
    CHECK(team->gpus == most, "%d GPUs", team->gpus);
    for (int r = 0; r < team->size; r++)
        CHECK(team->gpu_of[r] == r % most, "GPU of rank %d", r);
    for (int g = 0; g < most; g++)
        CHECK(team->leader_of[g] == g, "leader of GPU %d", g);
    CHECK(team->leader == (team->rank < most) && team->gpu_index == team->rank % most, "place");
    size_t mb = tutti_settings()->channel_mb ? (size_t)tutti_settings()->channel_mb : team->device->channel_mb;
    CHECK(team->channel_bytes == mb << 20, "channel");
    CHECK(team->scratch && team->stream && team->words && team->words_device && team->device, "filled");
    CHECK(team->epoch == 0 && team->finished == 0, "epoch");
    const size_t ticks = offsetof(struct tutti_channel_flags, ticks);
    for (size_t i = 0; i < at; i += 4)
        CHECK(i / 8 == ticks / 8 || holds((char *)team->scratch + i, 0), "flag at %zu", i);
    CHECK(holds((char *)team->scratch + ticks, (uint32_t)(TUTTI_EPOCHS_BEFORE * TUTTI_TICKS)), "the first epoch");
    put((char *)team->scratch + at, word(team->rank, 0, 9));
    transport->ops->barrier(transport);
    for (int g = 0; g < team->gpus; g++)
        CHECK(holds((char *)team->window[g] + at, word(team->leader_of[g], 0, 9)), "window of GPU %d", g);
    for (int r = 0; r < team->size; r++) {
        int mine = team->leader && team->gpu_of[r] == team->gpu_index;
        CHECK((team->scratch_of[r] != NULL) == mine, "scratch of rank %d", r);
        if (mine)
            CHECK(holds((char *)team->scratch_of[r] + at, word(r, 0, 9)), "scratch of rank %d", r);
    }
    transport->ops->barrier(transport);
    kit_close(&kit);
    return check_failed() != 0;
}

static void open_fields(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 6; ranks++)
        assert_int_equal(run(ranks, fields, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

/* Each rank maps the other ranks' buffers of this round, in every mask. */
static int map_round(struct tutti_team *team, int round, int in_place, uint64_t of)
{
    void *in, *out, *theirs_out[TUTTI_MAX_RANKS] = {NULL};
    const void *theirs_in[TUTTI_MAX_RANKS] = {NULL};
    CHECK(tutti_alloc(BYTES, &in) == 0 && tutti_alloc(BYTES, &out) == 0, "alloc");
    size_t at = (size_t)(round % 7) * 256;
    char *to = in_place ? (char *)in + at : (char *)out + at;
    put((char *)in + at, word(team->rank, round, 0));
    put(to, word(team->rank, round, in_place ? 0 : 1));
    arrive_with(team, (char *)in + at, to);
    int agreed = 0, status = tutti_team_map(team, of, NULL, theirs_in, theirs_out, &agreed);
    CHECK(status == TUTTI_OK && agreed, "round %d: %s, agreed %d", round, tutti_status_text(status), agreed);
    for (int r = 0; r < team->size && agreed; r++) {
        if (r == team->rank || !(of >> r & 1)) {
            CHECK(!theirs_in[r] && !theirs_out[r], "round %d: rank %d was not asked for", round, r);
            continue;
        }
        CHECK(holds(theirs_in[r], word(r, round, 0)), "round %d: contribution of rank %d", round, r);
        CHECK(holds(theirs_out[r], word(r, round, in_place ? 0 : 1)), "round %d: result of rank %d", round, r);
    }
    tutti_team_done(team, TUTTI_OK);
    CHECK(tutti_team_await_done(team, UINT64_MAX >> (64 - team->size)) == TUTTI_OK, "done");
    tutti_free(in);
    tutti_free(out);
    /* Others' memory takes the place of what was freed meanwhile, before this rank's next call. */
    usleep((unsigned)(random_mix((uint64_t)round * 64 + (uint64_t)team->rank) % 200));
    return status;
}

static int everybody(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    int rounds = *(const int *)arg;
    if (!open_all(&kit, transport))
        return 1;
    for (int i = 0; i < rounds && !check_failed(); i++)
        map_round(kit.team, i, i % 3 == 0, i % 4 ? UINT64_MAX : random_mix((uint64_t)(i * 100 + transport->rank)));
    CHECK(tutti_cache_count(kit.node->cache) <= (size_t)tutti_settings()->cache_entries, "entries");
    kit_close(&kit);
    return check_failed() != 0;
}

/* Freed and allocated again, often at the same address: old data must never be seen. */
static void never_stale(void **state)
{
    (void)state;
    int before = kit_count_descriptors();
    int rounds = (int)check_many("TUTTI_TEST_ROUNDS", 500), few = rounds / 10 + 1;
    assert_int_equal(run(2, everybody, &rounds), 0);
    assert_int_equal(run(5, everybody, &few), 0);
    assert_int_equal(kit_count_descriptors(), before);
    assert_int_equal(check_failed(), 0);
}

/* One set of buffers, mapped in call after call: found in the cache, and still found after host-only calls. */
static int again(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    const void *in[TUTTI_MAX_RANKS], *first = NULL;
    void *buffer, *out[TUTTI_MAX_RANKS];
    (void)arg;
    if (!open_all(&kit, transport))
        return 1;
    CHECK(tutti_alloc(BYTES, &buffer) == 0, "alloc");
    put(buffer, word(transport->rank, 0, 0));
    for (int i = 0; i < 200; i++) {
        int agreed = 0, peer = (transport->rank + 1) % transport->size;
        arrive_with(kit.team, buffer, buffer);
        CHECK(tutti_team_map(kit.team, UINT64_MAX, NULL, in, out, &agreed) == TUTTI_OK && agreed, "map %d", i);
        first = i == 0 ? in[peer] : first;
        CHECK(in[peer] == first && out[peer] == first && holds(first, word(peer, 0, 0)), "map %d: another mapping", i);
        if (i % 5 == 0)
            CHECK(kit_meet(kit.team, 3) == TUTTI_OK, "a call that maps nothing");
    }
    size_t mapped = tutti_cache_count(kit.node->cache);
    CHECK(mapped == (size_t)transport->size - 1, "%zu entries", mapped);
    transport->ops->barrier(transport);
    tutti_free(buffer);
    kit_close(&kit);
    return check_failed() != 0;
}

static void cached(void **state)
{
    (void)state;
    assert_int_equal(run(3, again, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

/* Memory that cannot be mapped on one rank: nobody maps, the team lives. */
static int unshared(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    const void *in[TUTTI_MAX_RANKS];
    void *buffer, *out[TUTTI_MAX_RANKS];
    static char plain[64];
    int agreed = 1;
    (void)arg;
    if (!open_all(&kit, transport))
        return 1;
    CHECK(tutti_alloc(BYTES, &buffer) == 0, "alloc");
    const void *mine = transport->rank == 1 ? plain : buffer;
    arrive_with(kit.team, mine, buffer);
    CHECK(tutti_team_map(kit.team, UINT64_MAX, NULL, in, out, &agreed) == TUTTI_OK && !agreed, "agreed %d", agreed);
    map_round(kit.team, 1, 0, UINT64_MAX);
    tutti_free(buffer);
    kit_close(&kit);
    return check_failed() != 0;
}

static void not_shared(void **state)
{
    (void)state;
    assert_int_equal(run(3, unshared, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

/* Fewer entries than one call needs: no mapping on any rank, and the next smaller call still works. */
static int crowded(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    const void *in[TUTTI_MAX_RANKS];
    void *a, *b, *out[TUTTI_MAX_RANKS];
    int agreed = 1;
    (void)arg;
    setenv("TUTTI_CACHE_ENTRIES", "4", 1);
    if (!open_all(&kit, transport))
        return 1;
    CHECK(tutti_alloc(BYTES, &a) == 0 && tutti_alloc(BYTES, &b) == 0, "alloc");
    arrive_with(kit.team, a, b);
    CHECK(tutti_team_map(kit.team, UINT64_MAX, NULL, in, out, &agreed) == TUTTI_OK && !agreed, "six into four");
    CHECK(tutti_cache_count(kit.node->cache) <= 4, "entries");
    for (int i = 0; i < 100; i++) {
        map_round(kit.team, i, 1, UINT64_MAX);
        CHECK(tutti_cache_count(kit.node->cache) <= 4, "entries");
    }
    transport->ops->barrier(transport);
    tutti_free(a);
    tutti_free(b);
    kit_close(&kit);
    return check_failed() != 0;
}

/* A rank that has no descriptor left: nobody maps, all go on, and mapping works again when it has some. */
static int short_of_descriptors(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    struct rlimit before, none;
    void *buffer[3];
    (void)arg;
    if (!open_all(&kit, transport))
        return 1;
    getrlimit(RLIMIT_NOFILE, &before);
    for (int i = 0; i < 3; i++) {
        const void *in[TUTTI_MAX_RANKS];
        void *out[TUTTI_MAX_RANKS];
        int agreed = 1;
        CHECK(tutti_alloc(BYTES, &buffer[i]) == 0, "alloc");
        arrive_with(kit.team, buffer[i], buffer[i]);
        none = (struct rlimit){3, before.rlim_max};
        if (transport->rank == i)
            setrlimit(RLIMIT_NOFILE, &none);
        int status = tutti_team_map(kit.team, UINT64_MAX, NULL, in, out, &agreed);
        CHECK(status == TUTTI_OK && !agreed, "%s, agreed %d", tutti_status_text(status), agreed);
        setrlimit(RLIMIT_NOFILE, &before);
        map_round(kit.team, i, 0, UINT64_MAX);
    }
    transport->ops->barrier(transport);
    for (int i = 0; i < 3; i++)
        tutti_free(buffer[i]);
    kit_close(&kit);
    return check_failed() != 0;
}

/* TUTTI_WINDOW_MB: two channels a process; the third communicator is told why not, alike on all ranks. */
static int windows(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    struct tutti_team *teams[3];
    (void)arg;
    setenv("TUTTI_CHANNEL_MB", "1", 1);
    setenv("TUTTI_WINDOW_MB", transport->rank == 1 ? "2" : "64", 1);
    if (!kit_open(transport, &kit))
        return 1;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 3; i++) {
            CHECK(tutti_team_create(kit.node, transport, &teams[i]) == TUTTI_OK, "team");
            CHECK(tutti_team_open(teams[i], -1) == TUTTI_OK, "not an error");
            CHECK(teams[i]->state == (i < 2 ? TUTTI_TEAM_OPEN : TUTTI_TEAM_UNAVAILABLE), "round %d: team %d: %s", round,
                  i, teams[i]->why);
        }
        const char *why = transport->rank == 1 ? "no device scratch left (TUTTI_WINDOW_MB)"
                                               : "a rank of the communicator cannot share device memory";
        CHECK(teams[2]->why && strcmp(teams[2]->why, why) == 0, "why: %s", teams[2]->why);
        CHECK(teams[0]->scratch != teams[1]->scratch && teams[0]->words != teams[1]->words, "channels of their own");
        for (int i = 0; i < 3; i++)
            tutti_team_free(teams[i]);
        transport->ops->barrier(transport); /* all have left: channels come back */
    }
    CHECK(kit.node->window_bytes <= (transport->rank == 1 ? 2u : 3u) << 20, "window");
    kit_close(&kit);
    return check_failed() != 0;
}

/* One rank asks for a GPU that is not there. */
static int no_gpu(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(tutti_team_open(kit.team, transport->rank == 2 ? 1000 : -1) == TUTTI_OK, "not an error");
    CHECK(kit.team->state == TUTTI_TEAM_UNAVAILABLE && kit.team->why, "unavailable on all");
    CHECK(kit_meet(kit.team, 4) == TUTTI_OK, "the team lives");
    kit_close(&kit);
    return check_failed() != 0;
}

/* Ranks have settings of their own: forks alone. */
static void limits(void **state)
{
    (void)state;
    assert_int_equal(tutti_forks_run(4, crowded, NULL, NULL), 0);
    assert_int_equal(tutti_forks_run(3, windows, NULL, NULL), 0);
    assert_int_equal(tutti_forks_run(3, short_of_descriptors, NULL, NULL), 0);
    assert_int_equal(tutti_forks_run(3, no_gpu, NULL, NULL), 0);
}

/* A thread of a rank with a communicator of its own, beside another one in the same node. */
struct endpoint {
    struct tutti_node *node;
    struct tutti_transport *transport;
    pthread_t id;
    int number;
};

static void *endpoint_main(void *at)
{
    struct endpoint *endpoint = at;
    struct tutti_team *team;
    CHECK(tutti_team_create(endpoint->node, endpoint->transport, &team) == TUTTI_OK && team->whole, "team");
    CHECK(tutti_team_open(team, -1) == TUTTI_OK && team->state == TUTTI_TEAM_OPEN, "open: %s", team->why);
    for (int i = 0; i < 80 && !check_failed(); i++)
        map_round(team, i * 8 + endpoint->number, 0, UINT64_MAX);
    tutti_team_free(team);
    return NULL;
}

static int endpoints(struct tutti_transport *transport, void *arg)
{
    enum { ENDPOINTS = 3 };
    struct endpoint endpoint[ENDPOINTS];
    struct tutti_node *node;
    (void)arg;
    CHECK(tutti_node_open(transport, &node) == TUTTI_OK, "node");
    for (int i = 0; i < ENDPOINTS; i++)
        endpoint[i] = (struct endpoint){.node = node, .transport = tutti_threads_split(transport, 0), .number = i};
    for (int i = 0; i < ENDPOINTS; i++)
        pthread_create(&endpoint[i].id, NULL, endpoint_main, &endpoint[i]);
    for (int i = 0; i < ENDPOINTS; i++) {
        pthread_join(endpoint[i].id, NULL);
        tutti_threads_free(endpoint[i].transport);
    }
    tutti_node_close(node);
    return check_failed() != 0;
}

static void many_threads(void **state)
{
    (void)state;
    assert_int_equal(run(3, endpoints, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

int main(int argc, char **argv)
{
    int forks = argc == 2 && strcmp(argv[1], "forks") == 0;
    run = forks ? run_forks : tutti_threads_run;
    if (!forks && (argc != 2 || strcmp(argv[1], "threads") != 0)) {
        fprintf(stderr, "usage: map_test forks|threads\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_fields),  cmocka_unit_test(cached),      cmocka_unit_test(not_shared),
        cmocka_unit_test(many_threads), cmocka_unit_test(never_stale),
    };
    const struct CMUnitTest own_settings[] = {cmocka_unit_test(limits)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (forks ? cmocka_run_group_tests(own_settings, NULL, NULL) : 0);
}
