/* A communicator's share of a GPU (TUTTI_HOST_BLOCKS of them): it waits for calls under way that have all blocks, on
 * one rank or on both, for longer than the rounds in which it waits; where other streams have them it is refused, on
 * all ranks. Teams that take turns have one share together, and a block more each, until the last of them is freed. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "coll/algorithm.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "team/node.h"

enum { RANKS = 2, SHARES = 16, HOLD_MS = 400, TURNS = 6 };

static struct tutti_sm_budget *room_of(const struct tutti_team *team)
{
    return &team->node->sm_budget[team->gpu];
}

/* Calls that end after a while. */
static void *end_calls(void *with)
{
    struct tutti_sm_budget *room = with;
    nanosleep(&(const struct timespec){0, HOLD_MS * 1000000L}, NULL);
    atomic_fetch_sub(&room->word, atomic_load(&room->all));
    return NULL;
}

static void wait_for_calls(struct tutti_team *team, int mine)
{
    pthread_t thread;
    struct tutti_sm_budget *room = room_of(team);
    if (mine) {
        atomic_fetch_add(&room->word, atomic_load(&room->all));
        CHECK(pthread_create(&thread, NULL, end_calls, room) == 0, "a thread");
    }
    const int status = tutti_enqueue_open(team, -1);
    CHECK(status == TUTTI_OK && team->share > 0, "rank %d: %s, a share of %u", team->rank, tutti_status_text(status),
          team->share);
    if (mine)
        pthread_join(thread, NULL);
}

static void refuse_for_streams(struct tutti_team *team)
{
    struct tutti_sm_budget *room = room_of(team);
    const uint64_t others = team->rank == 0 ? (uint64_t)(atomic_load(&room->all) - 1) << SHARES : 0;
    atomic_fetch_add(&room->word, others);
    const int status = tutti_enqueue_open(team, -1);
    CHECK(status == TUTTI_ERR_UNAVAILABLE && team->share == 0, "rank %d: %s, though streams have all", team->rank,
          tutti_status_text(status));
    atomic_fetch_sub(&room->word, others);
}

static unsigned given_to_shares(struct tutti_team *team)
{
    return (unsigned)(atomic_load(&room_of(team)->word) >> SHARES & 0xffff);
}

/* mixed: on rank 1 the teams have their blocks alone, as with streams that can be captured. */
static int take_turns(struct tutti_transport *transport, struct tutti_node *node, int mixed)
{
    struct tutti_team *team[TURNS] = {NULL};
    unsigned before[TURNS] = {0};
    const int together = !(mixed && transport->rank == 1);
    for (int i = 0; i < TURNS; i++) {
        const int made = tutti_team_create(node, transport, &team[i]);
        if (!CHECK(made == TUTTI_OK && tutti_open(team[i], -1) == TUTTI_OK, "team %d", i))
            return 1;
        team[i]->turns = together;
        before[i] = given_to_shares(team[i]);
        const int status = tutti_enqueue_open(team[i], -1);
        const unsigned now = given_to_shares(team[i]), all = atomic_load(&room_of(team[i])->all);
        if (mixed && i > 0 && status == TUTTI_ERR_UNAVAILABLE) { /* rank 1 has no more */
            CHECK(now == before[i] && team[i]->share == 0, "rank %d keeps %u of %u", transport->rank, now, before[i]);
            continue;
        }
        CHECK(status == TUTTI_OK && team[i]->share > 0 && now < all, "team %d of rank %d: %s", i, transport->rank,
              tutti_status_text(status));
        CHECK(mixed ? team[i]->share <= team[0]->share : team[i]->share == team[0]->share,
              "team %d has a share of %u, the first one %u", i, team[i]->share, team[0]->share);
        CHECK(now - before[i] == (i > 0 && together ? 1 : team[i]->share),
              "team %d of rank %d takes %u of a share of %u", i, transport->rank, now - before[i], team[i]->share);
        CHECK(team[i]->blocks == team[i]->share, "blocks of team %d", i);
    }
    for (int i = 0; i < TURNS; i++) { /* the first one first: the others go on with its blocks */
        struct tutti_sm_budget *const room = room_of(team[i]);
        const unsigned share = team[i]->share, was = given_to_shares(team[i]);
        const int last = i == TURNS - 1 || (mixed && team[i + 1]->share == 0);
        transport->ops->barrier(transport);
        tutti_team_free(team[i]);
        const unsigned gone = was - (unsigned)(atomic_load(&room->word) >> SHARES & 0xffff);
        CHECK(last ? atomic_load(&room->word) >> SHARES == 0
                   : gone == (share == 0 ? 0
                              : together ? 1
                                         : share),
              "rank %d: %u blocks are free after team %d with a share of %u", transport->rank, gone, i, share);
        transport->ops->barrier(transport);
    }
    return 0;
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct tutti_node *node = NULL;
    (void)unused;
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node"))
        return 1;
    for (int what = 0; what < 3; what++) {
        struct tutti_team *team = NULL;
        if (!CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK && tutti_open(team, -1) == TUTTI_OK, "team"))
            return 1;
        CHECK(atomic_load(&room_of(team)->all) > 2 && atomic_load(&room_of(team)->word) == 0, "a GPU that is empty");
        if (what == 2)
            refuse_for_streams(team);
        else
            wait_for_calls(team, what == 1 || team->rank == 1);
        transport->ops->barrier(transport);
        tutti_team_free(team);
        transport->ops->barrier(transport);
    }
    for (int mixed = 0; mixed < 2; mixed++) {
        if (take_turns(transport, node, mixed) != 0)
            return 1;
    }
    tutti_node_close(node);
    return 0;
}

static void run(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(RANKS, rank_main, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
