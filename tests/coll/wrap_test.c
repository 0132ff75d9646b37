/* Packets' flags have 31 bits of the epoch: those of a launch that long ago had the same bits are cleaned before their
 * number comes again. Such flags are put where the next launches look, with data that no rank has sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "coll/algorithm.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 2, SMALL = 2, LARGE = 900 };
static const uint64_t first = UINT64_C(9) * TUTTI_SCRUB; /* an epoch that cleans */

static void write_to(void *device, const void *host, size_t bytes)
{
    CHECK(tutti_copy(device, host, bytes) == 0, "copy");
}

/* Every packet of the half holds 7 with the flag of `epoch`. */
static void forge(const struct tutti_team *team, uint64_t epoch)
{
    const struct tutti_region region = tutti_channel_region(team, TUTTI_REGION_LL);
    uint32_t *host = malloc(region.stride);
    if (!CHECK(host != NULL, "memory"))
        return;
    for (size_t i = 0; i < region.stride / sizeof *host; i += 2) {
        host[i] = 7;
        host[i + 1] = (uint32_t)epoch | 0x80000000u;
    }
    write_to((char *)team->scratch + region.begin + (epoch & 1) * region.stride, host, region.stride);
    free(host);
}

struct rank {
    struct tutti_team *team;
    struct tutti_stream *stream;
    uint32_t *device;
};

/* In stream order, rank 1 after rank 0 has looked for its packets. */
static void sum(struct rank *me, size_t count, const char *what)
{
    uint32_t host[LARGE];
    const char *why = "?";
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        host[i] = (uint32_t)(1000 * me->team->rank + (int)i);
    write_to(me->device, host, count * sizeof *host);
    const struct tutti_call call = {.collective = TUTTI_COLLECTIVE_ALLREDUCE,
                                    .in = me->device,
                                    .out = me->device + LARGE,
                                    .count = count,
                                    .type = TUTTI_TYPE_U32,
                                    .op = TUTTI_OP_SUM,
                                    .kind = TUTTI_ARRIVAL_DEVICE,
                                    .gpu = -1,
                                    .host_ok = 1};
    if (me->team->rank == 1)
        usleep(200000);
    int status = tutti_enqueue(me->team, &call, me->stream, &why);
    CHECK(status == TUTTI_OK && strcmp(why, "ll") == 0, "%s: %s by %s", what, tutti_status_text(status), why);
    CHECK(me->team->device->stream.sync(me->stream) == TUTTI_OK, "%s: the stream", what);
    CHECK(tutti_copy(host, me->device + LARGE, count * sizeof *host) == 0, "copy");
    for (size_t i = 0; i < count; i++)
        wrong += host[i] != 1000 + 2 * (uint32_t)i;
    CHECK(wrong == 0, "%s: %zu of %zu wrong", what, wrong, count);
}

static int open_rank(struct rank *me, struct tutti_node *node, struct tutti_transport *transport, void **handle)
{
    return CHECK(tutti_team_create(node, transport, &me->team) == TUTTI_OK, "team") &&
           CHECK(tutti_enqueue_open(me->team, -1) == TUTTI_OK, "open") &&
           CHECK(me->team->device->stream.create(me->team->gpu, (struct tutti_stream **)handle) == TUTTI_OK &&
                     me->team->device->stream.wrap(-1, *handle, &me->stream) == TUTTI_OK,
                 "stream") &&
           CHECK(tutti_alloc(2 * LARGE * sizeof *me->device, (void **)&me->device) == 0, "memory");
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct tutti_node *node = NULL;
    struct rank me = {.team = NULL};
    void *handle = NULL;
    const uint64_t ticks = (first - 1) * TUTTI_TICKS;
    (void)unused;
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node") ||
        !open_rank(&me, node, transport, &handle))
        return 1;
    write_to((char *)me.team->scratch + offsetof(struct tutti_channel_flags, ticks), &ticks, sizeof ticks);
    forge(me.team, first + 2);
    forge(me.team, first + 3);
    transport->ops->barrier(transport);
    sum(&me, SMALL, "the launch that cleans one half");
    sum(&me, SMALL, "the launch that cleans the other");
    sum(&me, LARGE, "forged packets in one half");
    sum(&me, LARGE, "forged packets in the other");
    transport->ops->barrier(transport);
    me.team->device->stream.destroy(me.stream);
    me.team->device->stream.destroy(handle);
    tutti_team_free(me.team);
    tutti_free(me.device);
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
    setenv("TUTTI_RULES", "allreduce: *@ll", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
