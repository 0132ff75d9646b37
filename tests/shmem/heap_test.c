/* The heap's books alone: random sequences against a map of bytes, and that the same calls give the same offsets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/status.h"
#include "shmem/heap.h"
#include "support/random.h"

enum { UNIT = TUTTI_HEAP_ALIGN, UNITS = 512, OBJECTS = 64 };

/* The first run of free units that an object of that size and alignment fits in; UNITS: none. */
static unsigned first_fit(const unsigned char taken[UNITS], unsigned units, unsigned align)
{
    for (unsigned at = 0; at + units <= UNITS; at += align) {
        unsigned n = 0;
        while (n < units && !taken[at + n])
            n++;
        if (n == units)
            return at;
    }
    return UNITS;
}

static void against_a_map(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct tutti_heap heap, twin;
        unsigned char taken[UNITS] = {0};
        struct {
            unsigned at, units;
        } objects[OBJECTS] = {{0, 0}};
        uint64_t draws = seed * 1000003;
        assert_int_equal(tutti_heap_open(&heap, UNITS * UNIT), TUTTI_OK);
        assert_int_equal(tutti_heap_open(&twin, UNITS * UNIT), TUTTI_OK);
        for (int step = 0; step < 400; step++) {
            const uint64_t draw = random_next(&draws);
            const unsigned i = (unsigned)(draw % OBJECTS);
            if (objects[i].units) {
                const uint64_t at = (uint64_t)objects[i].at * UNIT;
                assert_true(tutti_heap_size(&heap, at) == (uint64_t)objects[i].units * UNIT);
                assert_int_equal(tutti_heap_give(&heap, at), TUTTI_OK);
                assert_int_equal(tutti_heap_give(&twin, at), TUTTI_OK);
                assert_int_equal(tutti_heap_give(&heap, at), TUTTI_ERR_ARGUMENT);
                memset(taken + objects[i].at, 0, objects[i].units);
                objects[i].units = 0;
                continue;
            }
            const unsigned units = (unsigned)(draw / 64 % (draw / 4096 % 8 == 0 ? 200 : 20)) + 1;
            const unsigned align = 1u << draw / 65536 % 5;
            const uint64_t bytes = (uint64_t)units * UNIT - draw / 1048576 % UNIT;
            const unsigned where = first_fit(taken, units, align);
            uint64_t offset = 1, same = 2;
            const int status = tutti_heap_take(&heap, bytes, (uint64_t)align * UNIT, &offset);
            assert_int_equal(status, where < UNITS ? TUTTI_OK : TUTTI_ERR_MEMORY);
            assert_int_equal(tutti_heap_take(&twin, bytes, (uint64_t)align * UNIT, &same), status);
            if (status != TUTTI_OK)
                continue;
            assert_true(offset == (uint64_t)where * UNIT && same == offset);
            memset(taken + where, 1, units);
            objects[i].at = where;
            objects[i].units = units;
        }
        tutti_heap_close(&heap);
        tutti_heap_close(&twin);
    }
}

/* A range that is made longer in steps, and shorter again where nothing was taken, against one that was as long from
 * the start. */
static void grows(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct tutti_heap heap, whole;
        uint64_t draws = seed * 1000033, bytes = 4 * UNIT, at[OBJECTS] = {0}, offset = 0, same = 0;
        int taken[OBJECTS] = {0};
        assert_int_equal(tutti_heap_open(&heap, bytes), TUTTI_OK);
        assert_int_equal(tutti_heap_open(&whole, UNITS * 100 * UNIT), TUTTI_OK);
        for (int step = 0; step < 400; step++) {
            const uint64_t draw = random_next(&draws), wanted = draw / 64 % 5000 + 1,
                           align = UNIT << draw / 1048576 % 5;
            const unsigned i = (unsigned)(draw % OBJECTS);
            if (taken[i]) {
                assert_int_equal(tutti_heap_give(&heap, at[i]), TUTTI_OK);
                assert_int_equal(tutti_heap_give(&whole, at[i]), TUTTI_OK);
                taken[i] = 0;
                continue;
            }
            if (tutti_heap_take(&heap, wanted, align, &offset) != TUTTI_OK) {
                const uint64_t missing = tutti_heap_missing(&heap, wanted, align);
                assert_true(missing > 0 && missing < UINT64_MAX && missing % UNIT == 0);
                if (missing > UNIT) { /* not one unit less will do */
                    assert_int_equal(tutti_heap_extend(&heap, missing - UNIT), TUTTI_OK);
                    assert_int_equal(tutti_heap_take(&heap, wanted, align, &offset), TUTTI_ERR_MEMORY);
                    tutti_heap_shrink(&heap, missing - UNIT);
                    assert_true(tutti_heap_missing(&heap, wanted, align) == missing);
                }
                assert_int_equal(tutti_heap_extend(&heap, missing), TUTTI_OK);
                assert_int_equal(tutti_heap_take(&heap, wanted, align, &offset), TUTTI_OK);
                bytes += missing;
            }
            assert_int_equal(tutti_heap_take(&whole, wanted, align, &same), TUTTI_OK);
            assert_true(offset == same && offset + wanted <= bytes);
            at[i] = offset;
            taken[i] = 1;
        }
        assert_true(tutti_heap_missing(&heap, UINT64_MAX - 1, 1) == UINT64_MAX);
        tutti_heap_close(&heap);
        tutti_heap_close(&whole);
    }
}

static void borders(void **state)
{
    (void)state;
    struct tutti_heap heap;
    uint64_t offset;
    assert_int_equal(tutti_heap_open(&heap, 10 * UNIT), TUTTI_OK);
    assert_int_equal(tutti_heap_take(&heap, 0, 1, &offset), TUTTI_ERR_MEMORY);
    assert_int_equal(tutti_heap_take(&heap, UINT64_MAX, 1, &offset), TUTTI_ERR_MEMORY);
    assert_int_equal(tutti_heap_take(&heap, UINT64_MAX - UNIT, 1, &offset), TUTTI_ERR_MEMORY);
    assert_int_equal(tutti_heap_take(&heap, 10 * UNIT + 1, 1, &offset), TUTTI_ERR_MEMORY);
    assert_int_equal(tutti_heap_take(&heap, 10 * UNIT, 1, &offset), TUTTI_OK);
    assert_int_equal(tutti_heap_take(&heap, 1, 1, &offset), TUTTI_ERR_MEMORY);
    assert_int_equal(tutti_heap_give(&heap, UNIT), TUTTI_ERR_ARGUMENT);
    assert_int_equal(tutti_heap_give(&heap, 0), TUTTI_OK);
    tutti_heap_close(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_a_map), cmocka_unit_test(grows),
                                       cmocka_unit_test(borders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
