/* Launches in stream order of which the next one may come while the one before runs: only where the communicator's
 * share of the GPU has room for the blocks of both; otherwise the device waits for the end of the one before. With
 * room it does not wait. Random sequences of launches, which a device in between writes down and does not
 * make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll/algorithm.h"
#include "coll/launch/flow.h"
#include "coll/state.h"
#include "core/status.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 2, CALLS = 300, COUNT = 64 };
static const unsigned shares[] = {1, 2, 3, 5, 8, 18, 33};

/* ---- what is launched; of rank 0 alone ---- */

static struct {
    unsigned share, blocks;              /* blocks: of the last launch in stream order */
    int goes, together, apart, launches; /* goes: 1 if that lets the next one come at once */
    const struct tutti_stream *team_stream;
} seen;
static unsigned drawn; /* blocks of the launches of this call */
static size_t most;    /* elements of each */

static int launch(struct tutti_stream *stream, const struct tutti_launch *launched)
{
    const unsigned blocks = launched->blocks;
    seen.launches++;
    CHECK(blocks == drawn, "%u blocks instead of %u", blocks, drawn);
    if (stream == seen.team_stream) {
        CHECK(!launched->flow->early, "a launch that is waited for lets the next one come at once");
        return TUTTI_OK;
    }
    CHECK(!launched->flow->early || 2 * blocks <= seen.share, "%u blocks of %u let the next launch come at once",
          blocks, seen.share);
    if (seen.goes && seen.blocks + blocks > seen.share)
        CHECK(!launched->early, "%u and %u blocks together, of a share of %u", seen.blocks, blocks, seen.share);
    if (!seen.goes || blocks <= seen.share - seen.share / 2)
        CHECK(launched->early, "%u blocks behind %u wait, of a share of %u", blocks, seen.blocks, seen.share);
    seen.together += seen.goes && launched->early;
    seen.apart += !launched->early;
    seen.goes = (int)launched->flow->early;
    seen.blocks = blocks;
    return TUTTI_OK;
}

static void shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                  struct tutti_flow *flow)
{
    (void)team;
    (void)call;
    (void)elements;
    *flow = (struct tutti_flow){.kernel = TUTTI_KERNEL_LL, .region = TUTTI_REGION_LL, .most = most, .blocks = drawn};
}

/* ---- */

static void draw_calls(struct tutti_team *team, struct tutti_stream *stream, float *memory, unsigned share)
{
    uint64_t state = check_seed() + share;
    team->share = team->blocks = share;
    tutti_coll_of(team)->early = 0;
    memset(&seen, 0, sizeof seen);
    seen.share = share;
    seen.team_stream = team->stream;
    for (int i = 0; i < CALLS; i++) {
        const struct tutti_call call = {.collective = TUTTI_COLLECTIVE_ALLREDUCE,
                                        .in = memory,
                                        .out = memory + COUNT,
                                        .count = COUNT,
                                        .type = TUTTI_TYPE_F32,
                                        .op = TUTTI_OP_SUM,
                                        .kind = TUTTI_ARRIVAL_DEVICE,
                                        .gpu = -1};
        drawn = 1 + (unsigned)(random_next(&state) % share);
        most = random_next(&state) % 4 ? COUNT : COUNT / 3; /* by several launches */
        struct tutti_stream *const to = random_next(&state) % 8 ? stream : team->stream;
        CHECK(tutti_flow_put(team, &call, to, 0, shape) == TUTTI_OK, "the launch");
    }
    CHECK(seen.launches > CALLS, "%d launches", seen.launches);
    if (share > 1)
        CHECK(seen.together > 0 && seen.apart > 0, "of a share of %u %d launches come at once, %d wait", share,
              seen.together, seen.apart);
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct tutti_node *node = NULL;
    struct tutti_team *team = NULL;
    struct tutti_stream *stream = NULL;
    float *memory = NULL;
    (void)unused;
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node") ||
        !CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK && tutti_enqueue_open(team, -1) == TUTTI_OK,
               "team") ||
        !CHECK(team->device->stream.create(team->gpu, &stream) == TUTTI_OK, "stream") ||
        !CHECK(tutti_alloc(2 * COUNT * sizeof *memory, (void **)&memory) == 0, "memory"))
        return 1;
    transport->ops->barrier(transport);
    if (team->rank == 0) {
        const struct tutti_device *const device = team->device;
        const unsigned share = team->share, blocks = team->blocks;
        struct tutti_device between = *device;
        between.launch.kernel = launch;
        team->device = &between;
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
            draw_calls(team, stream, memory, shares[i]);
        team->device = device;
        team->share = share;
        team->blocks = blocks;
    }
    transport->ops->barrier(transport);
    team->device->stream.destroy(stream);
    tutti_team_free(team);
    tutti_free(memory);
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
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)check_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
