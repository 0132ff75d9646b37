/* Nonblocking teams: a second team of the same ranks, used from a thread of its own. Opening needs no transport, is
 * bounded and reports which rank is missing. TUTTI_STALL_SECONDS is 1 and TUTTI_TIMEOUT_SECONDS 3. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"
#include "support/random.h"

static uint64_t seed;

static void nothing(struct tutti_transport *transport)
{
    (void)transport;
}

/* A collective call would go to address 0. */
static const struct tutti_transport_ops no_calls = {.progress = nothing};

static int open_alone(struct tutti_team *team)
{
    const struct tutti_transport_ops *ops = team->transport->ops;
    team->transport->ops = &no_calls;
    int status = tutti_team_open(team, -1);
    team->transport->ops = ops;
    return status;
}

struct half {
    struct tutti_team *team;
    uint64_t random;
    uint64_t base;
    int rounds;
};

/* Meets and votes at its own pace; numbers of the other half of the ranks' calls would differ. */
static void *work(void *at)
{
    struct half *half = at;
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    for (int i = 0; i < half->rounds && !check_failed(); i++) {
        struct tutti_arrival mine = kit_call(half->base + (uint64_t)i);
        uint32_t least = 0, vote = (uint32_t)(half->base + (uint64_t)i);
        if (random_next(&half->random) % 16 == 0)
            kit_sleep_us(50);
        tutti_team_arrive(half->team, &mine);
        int status = tutti_team_await(half->team, all);
        CHECK(status == TUTTI_OK, "round %d: %s", i, tutti_status_text(status));
        CHECK(tutti_team_vote(half->team, vote, &least) == TUTTI_OK && least == vote, "vote %d", i);
    }
    if (half->team->state == TUTTI_TEAM_CLOSED)
        CHECK(tutti_team_open(half->team, -1) == TUTTI_OK && half->team->state == TUTTI_TEAM_OPEN, "open: %s",
              half->team->why);
    return NULL;
}

static int both(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    pthread_t id;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_team *team = kit.team, *nonblocking = team->nonblocking;
    CHECK(nonblocking && nonblocking->whole && !nonblocking->nonblocking && nonblocking->is_nonblocking &&
              !team->is_nonblocking,
          "a twin");
    CHECK(nonblocking->slot[team->rank] != team->slot[team->rank], "slots of their own");
    struct half halves[2] = {{team, random_mix(seed) + (uint64_t)team->rank, 1000000, 2000},
                             {nonblocking, random_mix(seed) - (uint64_t)team->rank, 2000000, 3000}};
    CHECK(pthread_create(&id, NULL, work, &halves[1]) == 0, "thread");
    work(&halves[0]);
    pthread_join(id, NULL);
    if (!check_failed()) {
        CHECK(team->scratch != nonblocking->scratch && team->words != nonblocking->words &&
                  team->stream != nonblocking->stream,
              "channels");
        CHECK(team->blocks == nonblocking->blocks && team->blocks == team->device->gpu.blocks(team->gpu), "blocks");
    }
    kit_close(&kit);
    return 0;
}

static void nonblocking_teams(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 4; ranks++)
        assert_int_equal(tutti_threads_run(ranks, both, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

static int unaided(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(open_alone(kit.team) == TUTTI_OK && kit.team->state == TUTTI_TEAM_OPEN, "open: %s", kit.team->why);
    CHECK(open_alone(kit.team->nonblocking) == TUTTI_OK && kit.team->nonblocking->state == TUTTI_TEAM_OPEN,
          "open the nonblocking team");
    CHECK(kit_meet(kit.team, 4) == TUTTI_OK && kit_meet(kit.team->nonblocking, 5) == TUTTI_OK, "use");
    transport->ops->barrier(transport);
    kit_close(&kit);
    return 0;
}

static void no_transport(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(4, unaided, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

/* One rank wants a GPU that is not there: no rank opens, all go on. */
static int refusing(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(tutti_team_open(kit.team, transport->rank == 2 ? 4711 : -1) == TUTTI_OK, "not an error");
    CHECK(kit.team->state == TUTTI_TEAM_UNAVAILABLE, "unavailable");
    CHECK(strcmp(kit.team->why,
                 transport->rank == 2 ? "no GPU" : "a rank of the communicator cannot share device memory") == 0,
          "why: %s", kit.team->why);
    CHECK(kit_meet(kit.team, 4) == TUTTI_OK, "calls go on");
    kit_close(&kit);
    return 0;
}

static void refused(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(3, refusing, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

/* Rank 1 opens after 1.6 s (0) or never (1). */
static int opening(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    int never = *(const int *)arg, late = transport->rank == 1;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_team *nonblocking = kit.team->nonblocking;
    if (late && !never)
        kit_sleep_us(1600000);
    if (!late || !never) {
        int status = tutti_team_open(nonblocking, -1);
        CHECK(never ? status == TUTTI_ERR_TIMEOUT && nonblocking->state == TUTTI_TEAM_BROKEN
                    : status == TUTTI_OK && nonblocking->state == TUTTI_TEAM_OPEN,
              "%s", tutti_status_text(status));
    }
    transport->ops->barrier(transport);
    CHECK(kit_meet(kit.team, 4) == TUTTI_OK, "the other team does not mind");
    kit_close(&kit);
    return 0;
}

static void stalls(void **state)
{
    (void)state;
    for (int never = 0; never < 2; never++) {
        char line[200];
        kit_capture_begin();
        int result = tutti_threads_run(2, opening, &never);
        char *text = kit_capture_end();
        assert_int_equal(result, 0);
        assert_int_equal(check_failed(), 0);
        snprintf(line, sizeof line,
                 "rank 0 has waited 1 s in group 4096, before its first call: rank 1 (process %d) has not said what "
                 "device memory it can share",
                 (int)getpid());
        assert_non_null(strstr(text, line));
        assert_int_equal(strstr(text, "it gives up (TUTTI_TIMEOUT_SECONDS)") != NULL, never);
        free(text);
    }
}

/* Rank 1 goes on with other nonblocking calls for 2.5 s before it comes to the one that rank 0 is in: it is slow, and
 * rank 0 says nothing of it. */
static int slow(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    struct tutti_team *other = NULL;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(tutti_team_create(kit.node, transport, &other) == TUTTI_OK, "another team");
    if (check_failed())
        return 1;
    for (int i = 0; transport->rank == 1 && i < 25; i++) {
        struct tutti_arrival mine = kit_call(4);
        tutti_team_arrive(other->nonblocking, &mine);
        kit_sleep_us(100000);
    }
    CHECK(kit_meet(kit.team->nonblocking, 4) == TUTTI_OK, "the call that was waited for");
    transport->ops->barrier(transport);
    tutti_team_free(other);
    kit_close(&kit);
    return 0;
}

static void slow_is_no_stall(void **state)
{
    (void)state;
    kit_capture_begin();
    int result = tutti_threads_run(2, slow, NULL);
    char *text = kit_capture_end();
    assert_int_equal(result, 0);
    assert_int_equal(check_failed(), 0);
    assert_string_equal(text, "");
    free(text);
}

int main(int argc, char **argv)
{
    int limits = argc > 1 && strcmp(argv[1], "limits") == 0;
    if (limits) {
        setenv("TUTTI_STALL_SECONDS", "1", 1);
        setenv("TUTTI_TIMEOUT_SECONDS", "4", 1);
    }
    seed = check_seed();
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)seed);
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(no_transport),
        cmocka_unit_test(refused),
        cmocka_unit_test(nonblocking_teams),
    };
    const struct CMUnitTest limited[] = {cmocka_unit_test(stalls), cmocka_unit_test(slow_is_no_stall)};
    return limits ? cmocka_run_group_tests(limited, NULL, NULL) : cmocka_run_group_tests(plain, NULL, NULL);
}
