/* Forms by hand: what random types seldom meet, and what is beyond plans. */
#include "dtype/check_type.h"

#include "core/clock.h"
#include "core/status.h"
#include "dtype/plan/emit.h"
#include "support/check.h"
#include "support/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct any_room room;
static uint64_t state;

static void check_all(any_type what)
{
    for (uint64_t count = 0; count < 4; count++)
        assert_true(check_type(what, count, &state));
}

static const struct tutti_plan *built(any_type what)
{
    const struct tutti_plan *plan = NULL;
    assert_int_equal(tutti_plan_build(what, &plan), TUTTI_OK);
    return plan;
}

static void empty(void **unused)
{
    (void)unused;
    any_type byte = any_bytes(&room, 4), none = any_contiguous(&room, 0, byte);
    const uint64_t lengths[] = {0, 2, 0};
    const int64_t offsets[] = {-1000, 8, 5000};
    const any_type children[] = {byte, byte, none};
    check_all(any_bytes(&room, 0));
    check_all(none);
    check_all(any_vector(&room, 3, 0, 16, byte));
    check_all(any_indexed(&room, 3, lengths, 0, offsets, byte));
    check_all(any_indexed(&room, 0, lengths, 0, offsets, byte));
    check_all(any_struct(&room, 3, lengths, offsets, children));
    check_all(any_resized(&room, -5, 30, none));
    check_all(any_contiguous(&room, 3, any_resized(&room, -5, 30, none)));
    const struct tutti_plan *plan = built(none);
    assert_int_equal(plan->segments, 0);
    assert_int_equal(plan->true_lower | plan->true_end | (int64_t)plan->size, 0);
    tutti_plan_drop(plan);
    any_free(&room);
}

/* In a struct, markers of bounds count before the bounds of members that have none. */
static void markers(void **unused)
{
    (void)unused;
    any_type byte = any_bytes(&room, 4);
    const uint64_t lengths[] = {1, 1};
    const int64_t offsets[] = {50, 0};
    const any_type children[] = {any_resized(&room, 0, 100, byte), byte};
    any_type what = any_struct(&room, 2, lengths, offsets, children);
    check_all(what);
    const struct tutti_plan *plan = built(what);
    assert_int_equal(plan->lower, 50);
    assert_int_equal(plan->extent, 100);
    assert_int_equal(plan->true_lower, 0);
    tutti_plan_drop(plan);
    any_free(&room);
}

static void strides(void **unused)
{
    (void)unused;
    any_type byte = any_bytes(&room, 4);
    check_all(any_vector(&room, 5, 2, -24, byte));
    check_all(any_vector(&room, 5, 2, 0, byte)); /* the same bytes again and again */
    check_all(any_vector(&room, 5, 3, 4, byte)); /* blocks overlap */
    check_all(any_contiguous(&room, 5, any_resized(&room, 3, -4, byte)));
    check_all(any_contiguous(&room, 5, any_resized(&room, 3, 1, any_vector(&room, 4, 1, 16, byte))));
    /* The last block of a row goes on in the first of the next one. */
    check_all(any_vector(&room, 6, 1, 12, any_vector(&room, 2, 1, 8, byte)));
    check_all(any_vector(&room, 100, 1, 12, any_vector(&room, 2, 1, 8, byte)));
    check_all(any_vector(&room, 300, 1, 12, any_vector(&room, 2, 1, 8, byte)));
    any_free(&room);
}

/* More dimensions than a segment has. */
static void deep(void **unused)
{
    (void)unused;
    any_type what = any_bytes(&room, 1);
    int64_t stride = 3;
    for (int i = 0; i < 11; i++, stride = stride * 2 + 1)
        what = any_vector(&room, 2, 1, stride, what);
    check_all(what);
    const struct tutti_plan *plan = built(what);
    assert_int_equal(plan->segments, 8);
    assert_int_equal(plan->segment[0].dims, TUTTI_PLAN_DIMS);
    struct tutti_segment out = plan->segment[0];
    assert_int_equal(tutti_segment_repeat(&out, 2, plan->extent, plan->size), 0);
    tutti_plan_drop(plan);
    any_free(&room);
}

/* Addresses instead of displacements. */
static void absolute(void **unused)
{
    (void)unused;
    char *memory[3], packed[120], wanted[120];
    uint64_t lengths[3];
    int64_t offsets[3];
    any_type children[3];
    for (int i = 0; i < 3; i++) {
        memory[i] = malloc(400);
        for (int k = 0; k < 400; k++)
            memory[i][k] = (char)(i * 31 + k);
        children[i] = any_vector(&room, 10, 1, 40, any_bytes(&room, 4));
        lengths[i] = 1;
        offsets[i] = (int64_t)(uintptr_t)memory[i];
        for (int k = 0; k < 10; k++)
            memcpy(wanted + 40 * i + 4 * k, memory[i] + 40 * k, 4);
    }
    const struct tutti_plan *plan = built(any_struct(&room, 3, lengths, offsets, children));
    tutti_plan_pack_host(plan, 1, NULL, 0, 120, packed);
    assert_memory_equal(packed, wanted, 120);
    for (int i = 0; i < 3; i++)
        memset(memory[i], 0, 400);
    tutti_plan_unpack_host(plan, 1, NULL, 0, 120, packed);
    memset(packed, 0, sizeof packed);
    tutti_plan_pack_host(plan, 1, NULL, 0, 120, packed);
    assert_memory_equal(packed, wanted, 120);
    assert_int_equal(memory[1][4], 0);
    tutti_plan_drop(plan);
    for (int i = 0; i < 3; i++)
        free(memory[i]);
    any_free(&room);
}

/* Places without order, of parts that are themselves loops or sequences; loops around them. */
static void lists(void **unused)
{
    (void)unused;
    int mixed = 0, inner = 0, outer = 0, several = 0;
    for (int i = 0; i < 300; i++) {
        int64_t offsets[64], at = 0;
        uint64_t lengths[64], n = 18 + random_next(&state) % 40;
        any_type child = any_bytes(&room, 1 + random_next(&state) % 8);
        if (random_next(&state) % 2)
            child = any_vector(&room, 16 + random_next(&state) % 20, 1, 12, child);
        if (random_next(&state) % 3 == 0) {
            const any_type both[] = {child, any_bytes(&room, 3)};
            const uint64_t ones[] = {1, 1};
            const int64_t places[] = {0, 600};
            child = any_struct(&room, 2, ones, places, both);
        }
        for (uint64_t k = 0; k < n; k++, at += 400 + (int64_t)(random_next(&state) % 700) * 2) {
            offsets[k] = random_next(&state) % 8 ? at : -at;
            lengths[k] = 1 + (i % 4 == 0 ? random_next(&state) % 2 : 0);
        }
        any_type what = any_indexed(&room, n, lengths, 0, offsets, child);
        if (i % 3 == 0)
            what = any_vector(&room, 2, 1, 100001, any_resized(&room, 0, 50000, what));
        const struct tutti_plan *plan = built(what);
        for (uint32_t k = 0; k < plan->segments; k++) {
            const struct tutti_segment *s = &plan->segment[k];
            mixed += s->begins != NULL;
            inner += s->entries > 0 && s->dims > s->list_at;
            outer += s->entries > 0 && s->list_at > 0;
            several += k > 0 && s->entries > 0;
        }
        tutti_plan_drop(plan);
        check_all(what);
        any_free(&room);
    }
    print_message("lists: %d of mixed blocks, %d with dims inside, %d with dims outside, %d beside another segment\n",
                  mixed, inner, outer, several);
    assert_true(mixed > 0 && inner > 0 && outer > 0 && several > 0);
}

static void large(void **unused)
{
    (void)unused;
    const int64_t far[] = {0, INT64_C(3) << 33};
    any_type byte = any_bytes(&room, 8);
    const struct tutti_plan *plan = built(any_contiguous(&room, UINT64_C(5000000000), byte));
    assert_int_equal(plan->segments, 1);
    assert_int_equal(plan->segment[0].block, UINT64_C(40000000000));
    tutti_plan_drop(plan);
    plan = built(any_vector(&room, UINT64_C(3000000000), 1, INT64_C(1) << 25, byte));
    assert_int_equal(plan->size, UINT64_C(24000000000));
    assert_int_equal(plan->segment[0].dim[0].count, UINT64_C(3000000000));
    assert_true(plan->true_end == INT64_C(2999999999) * (INT64_C(1) << 25) + 8);
    tutti_plan_drop(plan);
    plan = built(any_indexed(&room, 2, NULL, 1, far, any_vector(&room, 100, 1, -(INT64_C(1) << 32), byte)));
    assert_true(plan->true_lower == -99 * (INT64_C(1) << 32));
    assert_true(plan->true_end == (INT64_C(3) << 33) + 8);
    struct tutti_segment out = plan->segment[0];
    assert_int_equal(tutti_segment_repeat(&out, UINT64_C(1) << 33, plan->extent, plan->size), 1);
    assert_int_equal(out.dim[0].count, UINT64_C(1) << 33);
    tutti_plan_drop(plan);
    any_free(&room);
}

static void expect(any_type what, int status)
{
    const struct tutti_plan *plan = NULL;
    assert_int_equal(tutti_plan_build(what, &plan), status);
    assert_null(plan);
}

static void beyond(void **unused)
{
    (void)unused;
    any_type byte = any_bytes(&room, 1), big = any_bytes(&room, UINT64_C(1) << 40);
    const int64_t offsets[] = {INT64_MAX, 0}, edge[] = {INT64_C(1) << 62, 0};
    const uint64_t two[] = {2, 2}, huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40}, zero[] = {0, 0}, ones[] = {1, 1},
                   most[] = {UINT64_MAX, 1};
    const any_type children[] = {byte, byte};
    const uint32_t block[] = {TUTTI_DISTRIBUTE_BLOCK}, none[] = {TUTTI_DISTRIBUTE_NONE};
    expect(any_bytes(&room, UINT64_MAX), TUTTI_ERR_UNAVAILABLE);
    expect(any_contiguous(&room, UINT64_C(1) << 40, big), TUTTI_ERR_UNAVAILABLE);
    expect(any_contiguous(&room, UINT64_MAX, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_contiguous(&room, UINT64_MAX, any_resized(&room, 0, 0, byte)), TUTTI_ERR_UNAVAILABLE);
    expect(any_vector(&room, 3, 1, INT64_MAX, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_vector(&room, 3, 1, INT64_MIN, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_vector(&room, UINT64_C(1) << 33, 1, INT64_C(1) << 33, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_indexed(&room, 2, two, 0, offsets, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_indexed(&room, 2, two, 0, edge, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_indexed(&room, 2, most, 0, zero[0] ? offsets : (const int64_t[]){0, 8}, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_struct(&room, 2, two, offsets, children), TUTTI_ERR_UNAVAILABLE);
    expect(any_resized(&room, INT64_MAX, 5, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_resized(&room, INT64_MIN, INT64_MIN, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_subarray(&room, 2, huge, ones, zero, byte), TUTTI_ERR_UNAVAILABLE);
    expect(any_subarray(&room, 1, two, two, ones, byte), TUTTI_ERR_ARGUMENT);
    expect(any_subarray(&room, 1, ones, two, zero, byte), TUTTI_ERR_ARGUMENT);
    expect(any_darray(&room, 1, two, block, ones, ones, zero, byte), TUTTI_ERR_ARGUMENT); /* 1 block of 1 is not 2 */
    expect(any_darray(&room, 1, two, none, ones, two, zero, byte), TUTTI_ERR_ARGUMENT);
    expect(any_darray(&room, 1, two, block, two, zero, zero, byte), TUTTI_ERR_ARGUMENT);
    any_type tower = byte;
    for (int i = 0; i < 1000; i++)
        tower = any_contiguous(&room, 1, tower);
    expect(tower, TUTTI_ERR_UNAVAILABLE);
    any_free(&room);
}

/* A struct that names one child twice, again and again: 2^40 paths, 40 types. */
static void shared_children(void **unused)
{
    (void)unused;
    any_type what = any_resized(&room, 0, 4, any_bytes(&room, 4));
    for (int i = 0; i < 40; i++) {
        const any_type both[] = {what, what};
        const uint64_t ones[] = {1, 1};
        const int64_t offsets[] = {0, INT64_C(4) << i};
        what = any_struct(&room, 2, ones, offsets, both);
    }
    const struct tutti_plan *plan = built(what);
    assert_int_equal(plan->segments, 1);
    assert_int_equal(plan->segment[0].block, UINT64_C(4) << 40);
    tutti_plan_drop(plan);
    any_free(&room);
}

static void timed(const char *name, any_type what)
{
    double best = 1e30;
    for (int i = 0; i < 20; i++) {
        const struct tutti_plan *plan = NULL;
        uint64_t begin = tutti_now_ns();
        assert_int_equal(tutti_plan_build(what, &plan), TUTTI_OK);
        double took = (double)(tutti_now_ns() - begin);
        best = took < best ? took : best;
        tutti_plan_drop(plan);
    }
    print_message("%-40s %10.2f us\n", name, best / 1e3);
}

/* Shown, not asserted. */
static void time_to_build(void **unused)
{
    (void)unused;
    enum { MANY = 100000 };
    const uint64_t sizes[] = {1024, 1024, 1024}, box[] = {100, 100, 100}, from[] = {1, 2, 3};
    int64_t *offsets = any_take(&room, MANY, sizeof *offsets);
    uint64_t *lengths = any_take(&room, MANY, sizeof *lengths);
    any_type *child = any_take(&room, MANY, sizeof *child), byte = any_bytes(&room, 8);
    timed("vector", any_vector(&room, 1000, 2, 32, byte));
    timed("subarray of 3 dimensions", any_subarray(&room, 3, sizes, box, from, byte));
    for (int i = 0; i < MANY; i++) {
        offsets[i] = (int64_t)i * 24;
        lengths[i] = 1;
        child[i] = byte;
    }
    timed("100000 blocks, regular", any_indexed(&room, MANY, lengths, 0, offsets, byte));
    for (int i = 0; i < MANY; i++)
        offsets[i] = 8 * (3 * (int64_t)i + (int64_t)(random_next(&state) % 2));
    timed("100000 blocks, irregular", any_indexed(&room, MANY, NULL, 1, offsets, byte));
    timed("struct of 100000", any_struct(&room, MANY, lengths, offsets, child));
    for (int i = 0; i < MANY; i++)
        lengths[i] = 1 + random_next(&state) % 2;
    timed("100000 blocks, irregular, of 1 or 2", any_indexed(&room, MANY, lengths, 0, offsets, byte));
    for (int i = 0; i < MANY; i++)
        offsets[i] = 8 * (int64_t)(random_next(&state) % 10000000);
    timed("100000 blocks, anywhere", any_indexed(&room, MANY, NULL, 1, offsets, byte));
    any_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty),           cmocka_unit_test(markers),
                                       cmocka_unit_test(strides),         cmocka_unit_test(deep),
                                       cmocka_unit_test(lists),           cmocka_unit_test(absolute),
                                       cmocka_unit_test(large),           cmocka_unit_test(beyond),
                                       cmocka_unit_test(shared_children), cmocka_unit_test(time_to_build)};
    state = check_seed();
    print_message("seed %ju\n", (uintmax_t)state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
