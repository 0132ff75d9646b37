/* Rows of algorithms: what the list says of a row, and what callers take for granted of its columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "coll/algorithm.h"
#include "coll/call/row.h"
#include "coll/launch/flow.h"
#include "coll/move/moves.h"

static const struct {
    const char *name;
    int stream;
} listed[] = {
#define TUTTI_ALGORITHM_HOST               0
#define TUTTI_ALGORITHM_STREAM             1
#define TUTTI_ALGORITHM(name, order, text) {#name, TUTTI_ALGORITHM_##order},
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
};

/* The row runs by its own function or by a shape, not by both, and has no columns of a shape that it lacks. */
static void runs_one_way(const struct tutti_algorithm *row)
{
    assert_int_equal((row->run != NULL) + (row->flow != NULL) + (row->runs != NULL), 1);
    assert_true(row->run || !row->enqueue);
    assert_true(row->flow || (!row->places && !row->lingers));
    assert_true(row->runs || !row->leads);
}

static void are_as_listed(void **state)
{
    (void)state;
    for (int i = 0; i < TUTTI_ALGORITHMS; i++) {
        const struct tutti_algorithm *row = tutti_algorithms[i];
        assert_string_equal(row->name, listed[i].name);
        assert_int_equal(tutti_row_enqueues(row), listed[i].stream);
        assert_null(row->runs);
        runs_one_way(row);
        assert_int_not_equal(row->collectives, 0);
        assert_int_equal(row->collectives & ~(TUTTI_ON_REDUCTIONS | TUTTI_ON(BARRIER)), 0);
        assert_true(!tutti_row_enqueues(row) ||
                    row->waits_for_peers); /* of a call in stream order nothing else tells the end */
    }
}

static void moves_are_as_listed(void **state)
{
    (void)state;
    enum { HOST, STREAM };
    static const struct {
        const char *name;
        int stream;
    } moves[] = {
#define TUTTI_MOVE(name, order, text) {#name, order},
#include "tutti/moves.def"
#undef TUTTI_MOVE
    };
    int last = 0, any = 0;
    for (int i = 0; i < TUTTI_MOVES; i++) {
        const struct tutti_algorithm *row = tutti_moves[i];
        assert_string_equal(row->name, moves[i].name);
        assert_int_equal(tutti_row_enqueues(row), moves[i].stream);
        assert_null(row->flow);
        runs_one_way(row);
        assert_true(row->how && !row->stands_in && !row->maps_buffers);
        assert_true(!tutti_row_enqueues(row) || row->waits_for_peers);
        assert_true(!row->last_resort || !row->waits_for_peers);
        assert_true(!row->any_length || tutti_row_enqueues(row));
        assert_int_not_equal(row->collectives, 0);
        assert_int_equal(row->collectives & ~TUTTI_ON_MOVES, 0);
        last += row->last_resort;
        any += row->any_length;
    }
    assert_int_equal(last, 1);
    assert_int_equal(any, 1);
    for (int c = 0; c < TUTTI_COLLECTIVES; c++) { /* the set is that of the list */
        const int is_move = c >= TUTTI_COLLECTIVE_BCAST && c <= TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALLW;
        assert_int_equal(TUTTI_ON_MOVES >> c & 1, is_move);
    }
}

static void one_is_the_last_resort(void **state)
{
    (void)state;
    const struct tutti_team nothing = {.size = 100};
    int found = 0;
    for (int i = 0; i < TUTTI_ALGORITHMS; i++) {
        const struct tutti_algorithm *row = tutti_algorithms[i];
        found += row->last_resort;
        if (!row->last_resort)
            continue;
        assert_ptr_equal(row, tutti_algorithm_last());
        assert_false(row->maps_buffers || row->waits_for_peers || row->stands_in);
        for (int c = 0; c < TUTTI_COLLECTIVES; c++) {
            const struct tutti_call call = {.collective = (enum tutti_collective)c};
            assert_int_equal(tutti_algorithm_can(row, &nothing, &call), TUTTI_ON_REDUCTIONS >> c & 1);
        }
    }
    assert_int_equal(found, 1);
}

/* What stands in for a row that has too few multiprocessors must not wait for peers itself. */
static void one_stands_in(void **state)
{
    (void)state;
    const struct tutti_team own = {.size = 4, .gpus = 4}, shared = {.size = 4, .gpus = 2};
    const struct tutti_call call = {.collective = TUTTI_COLLECTIVE_SCAN},
                            barrier = {.collective = TUTTI_COLLECTIVE_BARRIER};
    const struct tutti_algorithm *row = tutti_algorithm_instead(&own, &call);
    assert_non_null(row);
    assert_false(row->waits_for_peers);
    assert_null(tutti_algorithm_instead(&shared, &call));
    assert_null(tutti_algorithm_instead(&own, &barrier));
}

/* An allreduce of two GPUs by `pipeline` goes through the windows in one round as long as they hold it: 64 MiB on the
 * 97 blocks and the channel of an H200. Longer ones have chunks of 192 KiB at most, three GPUs of 96. */
static void pipeline_takes_one_round(void **state)
{
    (void)state;
    enum { BLOCKS = 97, MIB = 1 << 20 };
    struct tutti_team team = {.size = 2, .gpus = 2, .blocks = BLOCKS, .channel_bytes = (size_t)336 * MIB};
    const struct tutti_call call = {.collective = TUTTI_COLLECTIVE_ALLREDUCE, .type = TUTTI_TYPE_F32};
    struct tutti_flow flow;
    for (size_t mib = 9; mib <= 64; mib++) {
        tutti_pipeline_shape(&team, &call, mib * MIB / 4, &flow);
        assert_true(flow.chunk * flow.blocks >= flow.slice && flow.chunk * 4 <= flow.room);
    }
    for (size_t mib = 96; mib <= 1024; mib *= 2) {
        tutti_pipeline_shape(&team, &call, mib * MIB / 4, &flow);
        assert_true(flow.chunk * 4 <= 192 << 10 && flow.chunk * 4 > 128 << 10 && flow.chunk * 4 <= flow.room);
    }
    team.size = team.gpus = 3;
    tutti_pipeline_shape(&team, &call, 64 * MIB / 4, &flow);
    assert_true(flow.chunk * 4 <= 96 << 10 && flow.chunk * 4 <= flow.room);
    team.size = team.gpus = 2; /* a small channel: what fits */
    team.channel_bytes = 64 * MIB;
    tutti_pipeline_shape(&team, &call, 64 * MIB / 4, &flow);
    assert_true(flow.chunk * 4 <= flow.room && flow.room * 2 * flow.blocks <= 64 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_as_listed),
        cmocka_unit_test(moves_are_as_listed),
        cmocka_unit_test(one_is_the_last_resort),
        cmocka_unit_test(one_stands_in),
        cmocka_unit_test(pipeline_takes_one_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
