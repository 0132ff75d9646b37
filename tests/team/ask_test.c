/* Asking for arrivals and votes instead of waiting for them, and the room that a team has for the state of the room
 * above. TUTTI_STALL_SECONDS is 1 and TUTTI_TIMEOUT_SECONDS 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Waits by asking; now and then the rest of it is left to the wait. */
static int ask_arrivals(struct tutti_team *team, uint64_t *random, const struct tutti_arrival *all[])
{
    int come = 0, status;
    const int wait_after = (int)(random_next(random) % 8);
    for (int asked = 0;; asked++) {
        if (wait_after == 0 && asked == 3)
            return tutti_team_await(team, all);
        status = tutti_team_test(team, all, &come);
        if (status != TUTTI_OK || come)
            return status;
        dawdle(random);
    }
}

static int ask_votes(struct tutti_team *team, uint64_t *random, uint32_t mine, uint32_t *least)
{
    int come = 0, status;
    tutti_team_vote_begin(team, mine);
    while ((status = tutti_team_vote_test(team, least, &come)) == TUTTI_OK && !come)
        dawdle(random);
    return status;
}

/* Ranks that ask and ranks that wait meet in the same calls. */
static int asks(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    uint64_t random = random_mix(seed) + 5501u * (uint64_t)transport->rank;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_team *team = kit.team;
    for (int i = 0; i < 400 && !check_failed(); i++) {
        struct tutti_arrival mine = kit_call((uint64_t)i + 1);
        const struct tutti_arrival *all[TUTTI_MAX_RANKS];
        const int asking = (int)(random_mix((uint64_t)i) >> team->rank & 1);
        uint32_t least = 0, vote = (uint32_t)(i * 8 + (team->rank + i) % team->size);
        mine.kind = i % 5 == 4 && team->rank == i % team->size ? TUTTI_ARRIVAL_HOST : TUTTI_ARRIVAL_DEVICE;
        dawdle(&random);
        tutti_team_arrive(team, &mine);
        int status = asking ? ask_arrivals(team, &random, all) : tutti_team_await(team, all);
        if (!CHECK(status == TUTTI_OK, "round %d: %s", i, tutti_status_text(status)))
            break;
        for (int r = 0; r < team->size; r++)
            CHECK(all[r]->count == (uint64_t)i + 1 &&
                      (all[r]->kind == TUTTI_ARRIVAL_HOST) == (i % 5 == 4 && r == i % team->size),
                  "round %d: record of rank %d", i, r);
        status = asking ? ask_votes(team, &random, vote, &least) : tutti_team_vote(team, vote, &least);
        CHECK(status == TUTTI_OK && least == (uint32_t)(i * 8), "round %d: vote %u", i, least);
    }
    kit_close(&kit);
    return 0;
}

/* A question is answered at once, and what has not come is not said to have. */
static int asks_early(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    struct tutti_arrival mine = kit_call(1);
    uint32_t least = 0;
    int come = 1;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    for (int turn = 0; turn < 2; turn++) { /* arrivals, votes */
        if (transport->rank > 0)
            transport->ops->barrier(transport);
        if (turn == 0)
            tutti_team_arrive(kit.team, &mine);
        else
            tutti_team_vote_begin(kit.team, 7 + (uint32_t)transport->rank);
        for (int i = 0; i < 100 && transport->rank == 0; i++) {
            const int status =
                turn == 0 ? tutti_team_test(kit.team, all, &come) : tutti_team_vote_test(kit.team, &least, &come);
            CHECK(status == TUTTI_OK && !come, "turn %d, question %d: %d", turn, i, come);
        }
        if (transport->rank == 0)
            transport->ops->barrier(transport);
        come = 0;
        while (!come && !check_failed()) {
            const int status =
                turn == 0 ? tutti_team_test(kit.team, all, &come) : tutti_team_vote_test(kit.team, &least, &come);
            CHECK(status == TUTTI_OK, "turn %d: %s", turn, tutti_status_text(status));
        }
        come = 1;
        transport->ops->barrier(transport);
    }
    CHECK(least == 7, "vote %u", least);
    kit_close(&kit);
    return 0;
}

/* Who asks in vain, or of calls that do not match, gets the failure that who waits gets. */
static int asks_in_vain(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    const int mismatch = *(const int *)arg;
    struct tutti_arrival mine = kit_call(mismatch ? 1 + (uint64_t)transport->rank : 1);
    int come = 0, status = TUTTI_OK;
    if (!kit_open(transport, &kit))
        return 1;
    if (mismatch || transport->rank == 0) {
        tutti_team_arrive(kit.team, &mine);
        while (status == TUTTI_OK && !come) {
            status = tutti_team_test(kit.team, all, &come);
            kit_sleep_us(50);
        }
        CHECK(status == (mismatch ? TUTTI_ERR_MISMATCH : TUTTI_ERR_TIMEOUT) && !come, "mismatch %d: %s", mismatch,
              tutti_status_text(status));
        CHECK(kit.team->state == TUTTI_TEAM_BROKEN, "not broken");
        CHECK(tutti_team_test(kit.team, all, &come) == TUTTI_ERR_BROKEN && !come, "asked of a broken team");
        tutti_team_vote_begin(kit.team, 1);
        CHECK(tutti_team_vote_test(kit.team, &(uint32_t){0}, &come) == TUTTI_ERR_BROKEN && !come, "a broken vote");
    }
    transport->ops->barrier(transport);
    kit_close(&kit);
    return 0;
}

static void asked(void **state)
{
    (void)state;
    const int no = 0, yes = 1;
    for (int ranks = 1; ranks <= 5; ranks++)
        assert_int_equal(tutti_threads_run(ranks, asks, NULL), 0);
    assert_int_equal(tutti_threads_run(3, asks_early, NULL), 0);
    kit_capture_begin();
    assert_int_equal(tutti_threads_run(2, asks_in_vain, (void *)(uintptr_t)&no), 0);
    assert_int_equal(tutti_threads_run(3, asks_in_vain, (void *)(uintptr_t)&yes), 0);
    free(kit_capture_end());
    assert_int_equal(check_failed(), 0);
}

int main(void)
{
    setenv("TUTTI_STALL_SECONDS", "1", 1);
    setenv("TUTTI_TIMEOUT_SECONDS", "3", 1);
    seed = check_seed();
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {cmocka_unit_test(asked), cmocka_unit_test(attached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
