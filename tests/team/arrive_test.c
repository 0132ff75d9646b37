/* Arrivals, votes and ends of calls in any order; calls that do not match; stalls and limits. Reports are looked for on
 * standard error. TUTTI_STALL_SECONDS is 1 and TUTTI_TIMEOUT_SECONDS 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/types.h"
#include "kit.h"
#include "support/random.h"

static uint64_t seed;

static void dawdle(uint64_t *random)
{
    uint64_t number = random_next(random);
    if (number % 16 == 0)
        kit_sleep_us((unsigned)(number >> 8) % 300);
    else if (number % 4 == 0)
        sched_yield();
}

/* Records, votes and ends must be those of the call at hand, whoever is early or late. */
static int orders(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    int rounds = *(const int *)arg;
    uint64_t random = random_mix(seed) + 1000003u * (uint64_t)transport->rank;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_team *team = kit.team;
    int last = team->size - 1;
    for (int i = 0; i < rounds && !check_failed(); i++) {
        struct tutti_arrival mine = kit_call((uint64_t)i + 1);
        const struct tutti_arrival *all[TUTTI_MAX_RANKS];
        struct tutti_shares *shares;
        dawdle(&random);
        tutti_team_arrive(team, &mine);
        shares = tutti_team_shares(team, team->rank);
        shares->in.offset = (uint64_t)i * 100 + (uint64_t)team->rank;
        dawdle(&random);
        int status = tutti_team_await(team, all);
        if (!CHECK(status == TUTTI_OK, "round %d: %s", i, tutti_status_text(status)))
            break;
        for (int r = 0; r < team->size; r++)
            CHECK(all[r]->count == (uint64_t)i + 1, "round %d: record of rank %d", i, r);
        for (int v = 0; v < i % 4; v++) {
            uint32_t least = 0, low = (uint32_t)((i + v) % team->size);
            dawdle(&random);
            uint32_t vote = (uint32_t)(i * 8 + v) + (team->rank == (int)low ? 0 : 5);
            CHECK(tutti_team_vote(team, vote, &least) == TUTTI_OK && least == (uint32_t)(i * 8 + v), "vote %d.%d: %u",
                  i, v, least);
            for (int r = 0; r < team->size; r++)
                CHECK(tutti_team_shares(team, r)->in.offset == (uint64_t)i * 100 + (uint64_t)r, "shares of rank %d", r);
        }
        if (i % 3 == 0) { /* everybody ends, everybody waits for all */
            dawdle(&random);
            tutti_team_done(team, TUTTI_OK);
            CHECK(tutti_team_await_done(team, UINT64_MAX >> (64 - team->size)) == TUTTI_OK, "done %d", i);
        } else if (i % 3 == 1) { /* one works, the others wait for it */
            if (team->rank == last)
                tutti_team_done(team, TUTTI_OK);
            else
                CHECK(tutti_team_await_done(team, UINT64_C(1) << last) == TUTTI_OK, "done %d", i);
        }
    }
    kit_close(&kit);
    return 0;
}

static void any_order(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 8; ranks++) {
        int rounds = ranks <= 4 ? 800 : 200;
        assert_int_equal(tutti_threads_run(ranks, orders, &rounds), 0);
    }
    assert_int_equal(check_failed(), 0);
}

/* Ranks with host memory do not wait in the team: the transport is all that keeps them near the others. */
static int mixed(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    uint64_t random = random_mix(seed) + 77u * (uint64_t)transport->rank;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    for (int i = 0; i < 1000 && !check_failed(); i++) {
        struct tutti_arrival mine = kit_call((uint64_t)i + 1);
        const struct tutti_arrival *all[TUTTI_MAX_RANKS];
        int host = (int)(random_mix((uint64_t)i) >> transport->rank & 1);
        mine.kind = host ? TUTTI_ARRIVAL_HOST : TUTTI_ARRIVAL_DEVICE;
        dawdle(&random);
        tutti_team_arrive(kit.team, &mine);
        if (!host) {
            CHECK(tutti_team_await(kit.team, all) == TUTTI_OK, "round %d", i);
            for (int r = 0; r < transport->size; r++)
                CHECK(tutti_arrival_leaves(all[r]->kind) == (int)(random_mix((uint64_t)i) >> r & 1), "kind of rank %d",
                      r);
        }
        transport->ops->barrier(transport);
    }
    kit_close(&kit);
    return 0;
}

static void mixed_memory(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(4, mixed, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

static int differ(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    int what = *(const int *)arg;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(kit_meet(kit.team, 7) == TUTTI_OK, "a call that matches");
    struct tutti_arrival mine = kit_call(1024);
    if (transport->rank == 2) {
        mine.count -= what == 0;
        mine.op = what == 1 ? TUTTI_OP_MAX : mine.op;
        mine.type = what == 2 ? TUTTI_TYPE_F64 : mine.type;
    }
    tutti_team_arrive(kit.team, &mine);
    CHECK(tutti_team_await(kit.team, all) == TUTTI_ERR_MISMATCH, "found");
    CHECK(kit.team->state == TUTTI_TEAM_BROKEN && kit.team->status == TUTTI_ERR_MISMATCH, "broken");
    CHECK(kit_meet(kit.team, 7) == TUTTI_ERR_BROKEN, "stays broken");
    transport->ops->barrier(transport);
    kit_close(&kit);
    return 0;
}

static int count_text(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

static void mismatch(void **state)
{
    (void)state;
    const char *const theirs[3] = {"rank 2: MPI_Allreduce of 1023 float, sum",
                                   "rank 2: MPI_Allreduce of 1024 float, max",
                                   "rank 2: MPI_Allreduce of 1024 double, sum"};
    for (int what = 0; what < 3; what++) {
        kit_capture_begin();
        int result = tutti_threads_run(3, differ, &what);
        char *text = kit_capture_end();
        assert_int_equal(result, 0);
        assert_int_equal(check_failed(), 0);
        assert_int_equal(count_text(text, "do not match in call 2"), 1);
        assert_int_equal(count_text(text, "rank 0 and 1 more: MPI_Allreduce of 1024 float, sum"), 1);
        assert_int_equal(count_text(text, theirs[what]), 1);
        free(text);
    }
}

/* Rank 1 comes after 1.6 s: one report by each that waits, then all goes on. */
static int late(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(kit_meet(kit.team, 7) == TUTTI_OK, "first");
    if (transport->rank == 1)
        kit_sleep_us(1600000);
    CHECK(kit_meet(kit.team, 9) == TUTTI_OK, "second");
    uint32_t least;
    if (transport->rank == 2)
        kit_sleep_us(1600000);
    CHECK(tutti_team_vote(kit.team, 1, &least) == TUTTI_OK, "vote");
    kit_close(&kit);
    return 0;
}

static void stall(void **state)
{
    (void)state;
    kit_capture_begin();
    int result = tutti_threads_run(3, late, NULL);
    char *text = kit_capture_end();
    assert_int_equal(result, 0);
    assert_int_equal(check_failed(), 0);
    for (int r = 0; r < 3; r++) {
        char line[256];
        snprintf(
            line, sizeof line,
            "rank %d has waited 1 s in call 2 on group 4096 (MPI_Allreduce of 9 float, sum): rank 1 (process %d) has "
            "not arrived, its last call was 1 (MPI_Allreduce of 7 float, sum)",
            r, (int)getpid());
        assert_int_equal(count_text(text, line), r != 1);
        snprintf(line, sizeof line,
                 "rank %d has waited 1 s in call 2 on group 4096 (MPI_Allreduce of 9 float, sum): rank 2", r);
        assert_int_equal(count_text(text, line), r != 2);
    }
    assert_int_equal(count_text(text, "has arrived and not agreed yet"), 2);
    assert_int_equal(count_text(text, "has waited"), 4);
    free(text);
}

/* Rank 0 never comes: rank 1 gives up, and rank 2, whose time is not over by a second, is told by it. */
static int limit(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_transport *pair = tutti_threads_split(transport, transport->rank > 0 ? 0 : -1);
    if (transport->rank == 2)
        kit_sleep_us(1000000);
    uint64_t start = tutti_now_ns();
    if (transport->rank > 0) {
        int status = kit_meet(kit.team, 9);
        double seconds = (double)(tutti_now_ns() - start) * 1e-9;
        CHECK(status == TUTTI_ERR_TIMEOUT, "%s", tutti_status_text(status));
        CHECK(transport->rank == 2 || seconds > 2.5, "rank %d: %.1f s", transport->rank, seconds);
    }
    transport->ops->barrier(transport);
    tutti_threads_free(pair);
    kit_close(&kit);
    return 0;
}

static void time_limit(void **state)
{
    (void)state;
    kit_capture_begin();
    int result = tutti_threads_run(3, limit, NULL);
    char *text = kit_capture_end();
    assert_int_equal(result, 0);
    assert_int_equal(check_failed(), 0);
    assert_int_equal(count_text(text, "it gives up (TUTTI_TIMEOUT_SECONDS)"), 1);
    assert_int_equal(count_text(text, ": rank 0 (process "), 3); /* rank 2 may come after the first look */
    assert_true(count_text(text, "has not arrived, this would be its first call") >= 3);
    free(text);
}

/* Rank 1 is known to have given up before it arrives, as the watcher of a stream publishes it. The others wait until it
 * arrives, or leaves the call to the MPI. */
static int gives_up(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    const int leaves = *(const int *)arg;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_team *const team = kit.team;
    CHECK(kit_meet(team, 7) == TUTTI_OK, "first");
    if (transport->rank == 1) {
        atomic_store(&team->slot[1]->broken, (uint32_t)-TUTTI_ERR_DEVICE);
        kit_sleep_us(100000);
    }
    if (transport->rank == 1 && leaves) {
        tutti_team_break(team, TUTTI_ERR_DEVICE);
        tutti_team_leave(team);
    } else {
        const int status = kit_meet(team, 9);
        CHECK(status == (leaves ? TUTTI_ERR_DEVICE : TUTTI_OK), "rank %d: %s", team->rank, tutti_status_text(status));
        CHECK(!tutti_team_is_lost(team) && tutti_team_is_left(team) == leaves, "rank %d: left", team->rank);
    }
    transport->ops->barrier(transport);
    kit_close(&kit);
    return 0;
}

static void given_up(void **state)
{
    (void)state;
    for (int leaves = 0; leaves < 2; leaves++)
        assert_int_equal(tutti_threads_run(3, gives_up, &leaves), 0);
    assert_int_equal(check_failed(), 0);
}

/* A rank that fails in its part of a call takes the others with it. */
static int failing(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(kit_meet(kit.team, 7) == TUTTI_OK, "arrive");
    if (transport->rank == 1) {
        tutti_team_done(kit.team, tutti_team_break(kit.team, TUTTI_ERR_DEVICE));
    } else {
        CHECK(tutti_team_await_done(kit.team, 2) == TUTTI_ERR_DEVICE, "told");
        CHECK(kit.team->state == TUTTI_TEAM_BROKEN, "broken");
    }
    uint32_t least;
    CHECK(tutti_team_vote(kit.team, 1, &least) == TUTTI_ERR_BROKEN, "vote");
    transport->ops->barrier(transport);
    kit_close(&kit);
    return 0;
}

static void failure(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(4, failing, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

/* The room above has zeroes in a new team, and its end is called once, while the node is there. */
static atomic_int ends, ends_alive;

static void count_end(struct tutti_team *team, int alive)
{
    atomic_fetch_add(&ends, 1);
    atomic_fetch_add(&ends_alive, alive && team->attached[0] == 17);
}

static int attaches(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    for (size_t i = 0; i < sizeof kit.team->attached; i++)
        CHECK(kit.team->attached[i] == 0, "byte %zu of a new team", i);
    CHECK(!kit.team->attached_end && !kit.team->nonblocking->attached_end, "the end of a new team");
    kit.team->attached[0] = 17;
    kit.team->attached_end = count_end;
    CHECK(kit_meet(kit.team, 1) == TUTTI_OK && atomic_load(&ends) == 0, "a call");
    transport->ops->barrier(transport);
    kit_close(&kit);
    return 0;
}

static void attached(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(3, attaches, NULL), 0);
    assert_int_equal(check_failed(), 0);
    assert_int_equal(atomic_load(&ends), 3);
    assert_int_equal(atomic_load(&ends_alive), 3);
}

int main(void)
{
    setenv("TUTTI_STALL_SECONDS", "1", 1);
    setenv("TUTTI_TIMEOUT_SECONDS", "3", 1);
    seed = check_seed();
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order), cmocka_unit_test(mixed_memory), cmocka_unit_test(mismatch),
        cmocka_unit_test(stall),     cmocka_unit_test(time_limit),   cmocka_unit_test(failure),
        cmocka_unit_test(attached),  cmocka_unit_test(given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
