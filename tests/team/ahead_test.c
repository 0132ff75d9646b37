/* Ranks with host memory run ahead of ranks that wait; details that differ. Reports are looked for on standard error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/types.h"
#include "kit.h"
#include "support/random.h"

enum { RANKS = 4 };

static uint64_t seed;
static int calls; /* TUTTI_TEST_CALLS */

static uint64_t count_of(int i)
{
    return random_mix((uint64_t)i) | 1;
}

/* Rank 3 never waits, rank 2 sometimes; the others read every record: a torn one would differ from theirs. */
static int racing(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    int lost = 0, kept = 0, rank = transport->rank;
    uint64_t random = random_mix(seed) + (uint64_t)rank;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_team *team = kit.team;
    for (int i = 0; i < calls && !check_failed(); i++) {
        struct tutti_arrival mine = kit_call(count_of(i));
        const struct tutti_arrival *all[TUTTI_MAX_RANKS];
        mine.collective = TUTTI_COLLECTIVE_REDUCE;
        mine.detail = count_of(i) * 3;
        if (random_next(&random) % 64 == 0)
            kit_sleep_us(20);
        while (rank == 3 &&
               (int32_t)(team->sequence - atomic_load(&team->slot[0]->sequence)) > 12 + (int32_t)(random % 8) &&
               !check_failed())
            sched_yield(); /* near the edge, where records are read while they are written */
        if (rank == 3 || (rank == 2 && i % 1000 < 500)) {
            tutti_team_announce(team, TUTTI_COLLECTIVE_REDUCE, mine.type, mine.op, mine.count, mine.detail);
            continue;
        }
        tutti_team_arrive(team, &mine);
        int status = tutti_team_await(team, all);
        CHECK(status == TUTTI_OK, "call %d: %s", i, tutti_status_text(status));
        for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
            int host = r == 3 || (r == 2 && i % 1000 < 500);
            CHECK(all[r]->count == mine.count && all[r]->detail == mine.detail, "call %d: record of rank %d", i, r);
            CHECK(host ? tutti_arrival_leaves(all[r]->kind) : all[r]->kind == TUTTI_ARRIVAL_DEVICE,
                  "call %d: kind of rank %d", i, r);
        }
        struct tutti_arrival theirs;
        if (tutti_record_read(team->slot[3], team->sequence, &theirs) < 0)
            lost++;
        else
            kept++;
    }
    CHECK(rank != 0 || lost + kept == calls, "%d", lost + kept);
    if (rank == 0)
        printf("records of the rank that never waits: %d read, %d lost\n", kept, lost);
    kit_close(&kit);
    return 0;
}

static void run_ahead(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(RANKS, racing, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

/* A record stays as long as its owner is less than TUTTI_RECORDS calls ahead, and its loss is found out. */
static int depth(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    struct tutti_arrival theirs = {.count = 0};
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_team *team = kit.team;
    uint32_t first = team->sequence + 1;
    if (transport->rank == 1) {
        for (int i = 0; i < TUTTI_RECORDS; i++)
            tutti_team_announce(team, TUTTI_COLLECTIVE_SCAN, TUTTI_TYPE_F64, TUTTI_OP_MIN, 100u + (unsigned)i, 7);
    }
    transport->ops->barrier(transport);
    for (unsigned i = 0; i < TUTTI_RECORDS; i++) {
        CHECK(tutti_record_read(team->slot[1], first + i, &theirs) == 1 && theirs.count == 100 + i, "record %u", i);
        CHECK(theirs.collective == TUTTI_COLLECTIVE_SCAN && theirs.type == TUTTI_TYPE_F64 && theirs.detail == 7 &&
                  theirs.op == TUTTI_OP_MIN && theirs.kind == TUTTI_ARRIVAL_HOST,
              "record %u", i);
    }
    CHECK(tutti_record_read(team->slot[1], first + TUTTI_RECORDS, &theirs) == 0, "not yet");
    transport->ops->barrier(transport);
    if (transport->rank == 1)
        tutti_team_announce(team, TUTTI_COLLECTIVE_SCAN, -1, -1, 5, 0);
    transport->ops->barrier(transport);
    CHECK(tutti_record_read(team->slot[1], first, &theirs) < 0, "lost");
    CHECK(tutti_record_read(team->slot[1], first + 1, &theirs) == 1, "kept");
    CHECK(tutti_record_read(team->slot[1], first + TUTTI_RECORDS, &theirs) == 1 && theirs.type == -1 && theirs.op == -1,
          "numbers below zero");
    transport->ops->barrier(transport);
    kit_close(&kit);
    return 0;
}

static void sixteen(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(3, depth, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

static const size_t some_counts[3] = {4, 0, 6}, other_counts[3] = {4, 6, 0};

static int differ(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    int scatter = *(const int *)arg, odd = transport->rank == 1;
    if (!kit_open(transport, &kit))
        return 1;
    struct tutti_arrival mine = kit_call(10);
    mine.collective = scatter ? TUTTI_COLLECTIVE_REDUCE_SCATTER : TUTTI_COLLECTIVE_REDUCE;
    mine.detail = tutti_detail(mine.collective, odd ? 2 : 0, odd ? other_counts : some_counts, 3);
    tutti_team_arrive(kit.team, &mine);
    CHECK(tutti_team_await(kit.team, all) == TUTTI_ERR_MISMATCH, "found");
    transport->ops->barrier(transport);
    kit_close(&kit);
    return 0;
}

static void details(void **state)
{
    (void)state;
    for (int scatter = 0; scatter < 2; scatter++) {
        char line[160];
        kit_capture_begin();
        int result = tutti_threads_run(3, differ, &scatter);
        char *text = kit_capture_end();
        assert_int_equal(result, 0);
        assert_int_equal(check_failed(), 0);
        const size_t *counts[2] = {some_counts, other_counts};
        for (int odd = 0; odd < 2; odd++) {
            const char *who = odd ? "rank 1" : "rank 0 and 1 more";
            uint64_t sum = tutti_detail(TUTTI_COLLECTIVE_REDUCE_SCATTER, 0, counts[odd], 3);
            if (scatter)
                snprintf(line, sizeof line, "%s: MPI_Reduce_scatter of 10 float, sum, counts with checksum %08x", who,
                         (unsigned)(sum >> 32));
            else
                snprintf(line, sizeof line, "%s: MPI_Reduce of 10 float, sum, root %d", who, odd ? 2 : 0);
            assert_non_null(strstr(text, line));
        }
        free(text);
    }
}

int main(void)
{
    seed = check_seed();
    calls = (int)check_many("TUTTI_TEST_CALLS", 10000);
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen),
        cmocka_unit_test(run_ahead),
        cmocka_unit_test(details),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
