/* Channels that are given again: what an earlier team has left is never taken for packets of the next. Views of control
 * pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/settings.h"
#include "kit.h"
#include "team/control.h"
#include "team/marks.h"
#include "team/node.h"
#include "team/page_view.h"
#include "tutti/tutti.h"

enum { RANKS = 3, MIB = 1 << 20, JUNK = 0x5a };

/* most: bytes that are enough for the channel. */
static struct tutti_team *opened(struct tutti_node *node, struct tutti_transport *transport, size_t most)
{
    struct tutti_team *team = NULL;
    if (!CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK && team->whole, "team"))
        return NULL;
    team->channel_most = most;
    if (!CHECK(kit_meet(team, 1) == TUTTI_OK && tutti_team_open(team, -1) == TUTTI_OK, "open"))
        return NULL;
    CHECK(team->state == TUTTI_TEAM_OPEN, "not open: %s", team->why ? team->why : "?");
    return team->state == TUTTI_TEAM_OPEN ? team : NULL;
}

/* Bytes of JUNK in this rank's channel behind its flags. */
static size_t junk_in(const struct tutti_team *team, size_t bytes)
{
    const size_t flags = sizeof(struct tutti_channel_flags);
    unsigned char *host = malloc(bytes);
    size_t found = 0;
    if (!CHECK(host && tutti_copy(host, team->scratch, bytes) == 0, "copy"))
        return 0;
    for (size_t i = flags; i < bytes; i++)
        found += host[i] == JUNK;
    free(host);
    return found;
}

static void fill(const struct tutti_team *team, size_t bytes)
{
    unsigned char *host = malloc(bytes);
    const size_t flags = sizeof(struct tutti_channel_flags);
    CHECK(host != NULL, "memory");
    memset(host, JUNK, bytes);
    CHECK(tutti_copy((char *)team->scratch + flags, host, bytes - flags) == 0, "copy");
    free(host);
}

static uint64_t ticks_of(const struct tutti_team *team)
{
    uint64_t ticks = 0;
    CHECK(tutti_copy(&ticks, (char *)team->scratch + offsetof(struct tutti_channel_flags, ticks), sizeof ticks) == 0,
          "copy");
    return ticks;
}

static void set_ticks(const struct tutti_team *team, uint64_t ticks)
{
    CHECK(tutti_copy((char *)team->scratch + offsetof(struct tutti_channel_flags, ticks), &ticks, sizeof ticks) == 0,
          "copy");
}

/* Ranks 0 and 1, then 1 and 2, of whose channels rank 1's is the smaller; then 0 and 2: rank 2's is laid out anew. */
static int other_layout(struct tutti_transport *world, void *unused)
{
    struct tutti_node *node = NULL;
    struct tutti_transport *first = tutti_threads_split(world, world->rank < 2 ? 0 : -1);
    struct tutti_transport *second = tutti_threads_split(world, world->rank > 0 ? 0 : -1);
    struct tutti_transport *third = tutti_threads_split(world, world->rank != 1 ? 0 : -1);
    struct tutti_team *a = NULL, *b = NULL, *c = NULL;
    size_t small = 0, large = 0;
    (void)unused;
    if (!CHECK(tutti_node_open(world, &node) == TUTTI_OK && node, "node"))
        return 1;
    if (first)
        a = opened(node, first, 0);
    if (second && (b = opened(node, second, 0)) != NULL)
        small = b->channel_bytes;
    if (world->rank == 2 && b)
        fill(b, (size_t)tutti_settings()->channel_mb * MIB);
    world->ops->barrier(world);
    tutti_team_free(a);
    tutti_team_free(b);
    world->ops->barrier(world);
    if (third && (c = opened(node, third, 0)) != NULL)
        large = c->channel_bytes;
    if (world->rank == 2 && c) {
        CHECK(small < large, "channels of %zu and %zu bytes", small, large);
        CHECK(junk_in(c, large) == 0, "%zu bytes of the team before", junk_in(c, large));
    }
    world->ops->barrier(world);
    tutti_team_free(c);
    tutti_node_close(node);
    tutti_threads_free(first);
    tutti_threads_free(second);
    tutti_threads_free(third);
    return 0;
}

/* A team that breaks leaves nothing; one that ends well leaves its packets, and epochs that go on behind them. */
static int broken(struct tutti_transport *world, void *unused)
{
    struct tutti_node *node = NULL;
    const uint64_t later = (TUTTI_EPOCHS_BEFORE + 5000) * TUTTI_TICKS;
    (void)unused;
    if (!CHECK(tutti_node_open(world, &node) == TUTTI_OK && node, "node"))
        return 1;
    for (int round = 0; round < 3 && !check_failed(); round++) {
        struct tutti_team *team = opened(node, world, 0);
        if (!team)
            break;
        if (round == 0)
            CHECK(ticks_of(team) == TUTTI_EPOCHS_BEFORE * TUTTI_TICKS, "a fresh channel's epoch");
        else
            CHECK(ticks_of(team) >= later, "round %d: epochs that have been before", round);
        const size_t junk = junk_in(team, team->channel_bytes);
        CHECK(round == 1 ? junk > 0 : junk == 0, "round %d: %zu bytes of the team before", round, junk);
        fill(team, team->channel_bytes);
        if (world->rank == 1)
            set_ticks(team, later + (uint64_t)(unsigned)round * TUTTI_TICKS); /* the others have not come so far */
        world->ops->barrier(world);
        if (round == 1)
            tutti_team_break(team, TUTTI_ERR_TIMEOUT);
        world->ops->barrier(world);
        tutti_team_free(team);
        world->ops->barrier(world);
    }
    tutti_node_close(node);
    return 0;
}

/* One that needs little takes little, and does not keep the next one from much. */
static int enough(struct tutti_transport *world, void *unused)
{
    struct tutti_node *node = NULL;
    const size_t all = (size_t)tutti_settings()->channel_mb * MIB, most[] = {MIB, 0, MIB, 0};
    (void)unused;
    if (!CHECK(tutti_node_open(world, &node) == TUTTI_OK && node, "node"))
        return 1;
    for (size_t i = 0; i < sizeof most / sizeof *most && !check_failed(); i++) {
        struct tutti_team *team = opened(node, world, most[i]);
        if (team)
            CHECK(team->channel_bytes == (most[i] ? most[i] : all), "team %zu: a channel of %zu bytes", i,
                  team->channel_bytes);
        world->ops->barrier(world);
        tutti_team_free(team);
        world->ops->barrier(world);
    }
    tutti_node_close(node);
    return 0;
}

static void *view_of(struct tutti_node *node, int peer, int gpu, unsigned life, size_t offset)
{
    pthread_mutex_lock(&node->lock);
    void *at = tutti_page_view(node, tutti_device(), peer, gpu, life, offset, sizeof(struct tutti_marks));
    pthread_mutex_unlock(&node->lock);
    return at;
}

/* Each GPU in each of its lives has addresses of its own of each rank's page, and all of them are that page. */
static int views(struct tutti_transport *world, void *unused)
{
    enum { VIEWS = 5 };
    struct tutti_node *node = NULL;
    const size_t marks = offsetof(struct tutti_control, marks);
    const int peer = (world->rank + 1) % RANKS, before = (world->rank + RANKS - 1) % RANKS;
    (void)unused;
    if (!CHECK(tutti_node_open(world, &node) == TUTTI_OK && node, "node"))
        return 1;
    struct tutti_team *team = opened(node, world, 0); /* the node has a device from now on */
    uint32_t *const view[VIEWS] = {view_of(node, peer, 0, 1, marks), view_of(node, peer, 1, 1, marks),
                                   view_of(node, peer, 0, 2, marks), view_of(node, world->rank, 0, 1, marks),
                                   view_of(node, peer, 0, 1, 0)};
    for (int i = 0; i < VIEWS; i++) {
        for (int k = 0; k < i; k++)
            CHECK(view[i] && view[i] != view[k], "views %d and %d are at %p", i, k, (void *)view[i]);
    }
    CHECK(view_of(node, peer, 0, 1, marks) == view[0], "a view is kept");
    __atomic_store_n(&view[0][world->rank], 100 + (uint32_t)world->rank, __ATOMIC_RELEASE);
    world->ops->barrier(world);
    CHECK(__atomic_load_n(&view[1][world->rank], __ATOMIC_ACQUIRE) == 100 + (uint32_t)world->rank,
          "another GPU's view");
    CHECK(__atomic_load_n(&view[2][world->rank], __ATOMIC_ACQUIRE) == 100 + (uint32_t)world->rank, "the next life's");
    CHECK(__atomic_load_n(&view[3][before], __ATOMIC_ACQUIRE) == 100 + (uint32_t)before, "the own page");
    CHECK(tutti_marks_own(node)[before] == 100 + (uint32_t)before, "the page itself");
    world->ops->barrier(world);
    tutti_team_free(team);
    tutti_node_close(node);
    return 0;
}

static void run_views(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(RANKS, views, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

static void run_enough(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(RANKS, enough, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

static void run_other_layout(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(RANKS, other_layout, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

static void run_broken(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(RANKS, broken, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_other_layout), cmocka_unit_test(run_broken),
                                       cmocka_unit_test(run_enough), cmocka_unit_test(run_views)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
