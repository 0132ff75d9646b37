/* One layout, described in many ways, has one plan: boxes of 1 to 4 dimensions out of larger ones. */
#include "dtype/check_type.h"
#include "dtype/wire.h"

#include "core/status.h"
#include "support/check.h"
#include "support/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DIMS = 4, MOST = 8192 };

/* A box of `n` elements of `bytes` bytes from `from` on in an array of `size` elements; the slowest dimension first. */
struct box {
    uint32_t dims;
    uint64_t size[DIMS], n[DIMS], from[DIMS], bytes;
    int64_t pitch[DIMS]; /* from one element to the next, in bytes */
    int64_t first, extent;
};

static struct any_room room;

static void box_finish(struct box *b)
{
    b->extent = (int64_t)b->bytes;
    b->first = 0;
    for (uint32_t d = b->dims; d-- > 0;) {
        b->pitch[d] = b->extent;
        b->extent *= (int64_t)b->size[d];
        b->first += (int64_t)b->from[d] * b->pitch[d];
    }
}

/* The box at its place, with the array's extent. */
static any_type finish(const struct box *b, any_type at_zero)
{
    const uint64_t one = 1;
    return any_resized(&room, 0, b->extent, any_struct(&room, 1, &one, &b->first, &at_zero));
}

static any_type element(const struct box *b)
{
    return any_bytes(&room, b->bytes);
}

/* hvector of hvector of ... */
static any_type by_hvectors(const struct box *b)
{
    any_type made = element(b);
    for (uint32_t d = b->dims; d-- > 0;)
        made = any_vector(&room, b->n[d], 1, b->pitch[d], made);
    return finish(b, made);
}

/* The fastest two as one vector with a block length, hvectors around it. */
static any_type by_vector(const struct box *b)
{
    uint32_t d = b->dims - 1;
    any_type made = any_contiguous(&room, b->n[d], element(b));
    if (d > 0) {
        d--;
        made = any_vector(&room, b->n[d], b->n[d + 1], b->pitch[d], element(b));
    }
    while (d-- > 0)
        made = any_vector(&room, b->n[d], 1, b->pitch[d], made);
    return finish(b, made);
}

static any_type by_contiguous_resized(const struct box *b)
{
    any_type made = element(b);
    for (uint32_t d = b->dims; d-- > 0;)
        made = any_contiguous(&room, b->n[d], any_resized(&room, 0, b->pitch[d], made));
    return finish(b, made);
}

static any_type by_subarray(const struct box *b)
{
    return any_subarray(&room, b->dims, b->size, b->n, b->from, element(b));
}

static any_type by_subarrays(const struct box *b)
{
    any_type made = element(b);
    for (uint32_t d = b->dims; d-- > 0;)
        made = any_subarray(&room, 1, &b->size[d], &b->n[d], &b->from[d], made);
    return made;
}

/* Offsets of all rows from the box's first byte, in order; rows are `b->n[last]` elements long. */
static uint64_t rows(const struct box *b, uint32_t dims, int64_t *offsets)
{
    uint64_t total = 1;
    for (uint32_t d = 0; d < dims; d++)
        total *= b->n[d];
    for (uint64_t i = 0; i < total; i++) {
        uint64_t rest = i;
        offsets[i] = 0;
        for (uint32_t d = dims; d-- > 0; rest /= b->n[d])
            offsets[i] += (int64_t)(rest % b->n[d]) * b->pitch[d];
    }
    return total;
}

static any_type by_hindexed_block(const struct box *b)
{
    int64_t *offsets = any_take(&room, MOST, sizeof *offsets);
    uint64_t n = rows(b, b->dims - 1, offsets);
    return finish(b, any_indexed(&room, n, NULL, b->n[b->dims - 1], offsets, element(b)));
}

/* Every element by itself, or rows in two parts. */
static any_type by_hindexed(const struct box *b, int halves)
{
    int64_t *offsets = any_take(&room, 2 * (size_t)MOST, sizeof *offsets);
    uint64_t *lengths = any_take(&room, 2 * (size_t)MOST, sizeof *lengths),
             n = rows(b, b->dims - (uint32_t)halves, offsets);
    for (uint64_t i = 0; i < n; i++)
        lengths[i] = halves ? b->n[b->dims - 1] : 1;
    for (uint64_t i = n; halves && i-- > 0;) {
        uint64_t part = lengths[i] / 2;
        offsets[2 * i + 1] = offsets[i] + (int64_t)(part * b->bytes);
        lengths[2 * i + 1] = lengths[i] - part;
        offsets[2 * i] = offsets[i];
        lengths[2 * i] = part;
    }
    return finish(b, any_indexed(&room, halves ? 2 * n : n, lengths, 0, offsets, element(b)));
}

static any_type by_struct(const struct box *b)
{
    int64_t *offsets = any_take(&room, MOST, sizeof *offsets);
    uint64_t *lengths = any_take(&room, MOST, sizeof *lengths), n = rows(b, b->dims - 1, offsets);
    any_type *child = any_take(&room, MOST, sizeof *child);
    for (uint64_t i = 0; i < n; i++) {
        lengths[i] = 1;
        child[i] = any_contiguous(&room, b->n[b->dims - 1], element(b));
    }
    return finish(b, any_struct(&room, n, lengths, offsets, child));
}

/* A struct of planes, each an hvector. */
static any_type by_struct_of_planes(const struct box *b)
{
    int64_t *offsets = any_take(&room, MOST, sizeof *offsets);
    uint64_t *lengths = any_take(&room, MOST, sizeof *lengths), n = b->n[0];
    any_type *child = any_take(&room, MOST, sizeof *child), plane = element(b);
    for (uint32_t d = b->dims; d-- > 1;)
        plane = any_vector(&room, b->n[d], 1, b->pitch[d], plane);
    for (uint64_t i = 0; i < n; i++) {
        lengths[i] = 1;
        offsets[i] = (int64_t)i * b->pitch[0];
        child[i] = plane;
    }
    return finish(b, any_struct(&room, n, lengths, offsets, child));
}

/* Process `at` of a grid has a block of each dimension; the box must be one. */
static any_type by_darray(const struct box *b, int cyclic)
{
    uint32_t distribution[DIMS];
    uint64_t dargs[DIMS], grid[DIMS], coords[DIMS];
    for (uint32_t d = 0; d < b->dims; d++) {
        distribution[d] = cyclic ? TUTTI_DISTRIBUTE_CYCLIC : TUTTI_DISTRIBUTE_BLOCK;
        dargs[d] = b->n[d];
        grid[d] = (b->size[d] + b->n[d] - 1) / b->n[d];
        coords[d] = b->from[d] / b->n[d];
    }
    return any_darray(&room, b->dims, b->size, distribution, dargs, grid, coords, element(b));
}

static const struct tutti_plan *built(any_type what)
{
    const struct tutti_plan *plan = NULL;
    assert_int_equal(tutti_plan_build(what, &plan), TUTTI_OK);
    return plan;
}

/* Bytes that say a plan, and any beginning of them. */
static void check_written(const struct tutti_plan *plan)
{
    unsigned char bytes[1024];
    const struct tutti_plan *again = NULL;
    size_t length = tutti_plan_write(plan, bytes, sizeof bytes);
    assert_true(length > 0);
    assert_int_equal(tutti_plan_write(plan, bytes, length - 1), 0);
    assert_int_equal(tutti_plan_read(bytes, length, &again), TUTTI_OK);
    assert_ptr_equal(again, plan);
    tutti_plan_drop(again);
    for (size_t i = 0; i < length; i += 8)
        assert_int_equal(tutti_plan_read(bytes, i, &again), TUTTI_ERR_ARGUMENT);
}

static void check_box(struct box *b)
{
    box_finish(b);
    any_type ways[] = {by_hvectors(b),  by_vector(b),           by_contiguous_resized(b), by_subarray(b),
                       by_subarrays(b), by_hindexed_block(b),   by_hindexed(b, 0),        by_hindexed(b, 1),
                       by_struct(b),    by_struct_of_planes(b), by_darray(b, 0),          by_darray(b, 1)};
    const struct tutti_plan *plan[sizeof ways / sizeof ways[0]];
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        plan[i] = built(ways[i]);
        if (!CHECK(plan[i] == plan[0], "description %zu of a box of %u dimensions has a plan of its own", i, b->dims))
            any_print(ways[i], 4);
    }
    assert_int_equal(plan[0]->segments, 1);
    assert_true(plan[0]->segment[0].dims < b->dims);
    assert_int_equal(plan[0]->segment[0].entries, 0);
    check_written(plan[0]);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        tutti_plan_drop(plan[i]);
    any_free(&room);
    assert_int_equal(check_failed(), 0);
}

/* The box begins at a multiple of its size, so that an array distributed in blocks can say it as well. */
static void boxes(void **unused)
{
    (void)unused;
    uint64_t seed = check_seed(), state = seed;
    print_message("seed %ju\n", (uintmax_t)seed);
    for (int i = 0; i < 2000; i++) {
        struct box b = {.dims = 1 + (uint32_t)(random_next(&state) % DIMS), .bytes = 1 + random_next(&state) % 16};
        for (uint32_t d = 0; d < b.dims; d++) {
            b.n[d] = 1 + random_next(&state) % 6;
            b.from[d] = b.n[d] * (random_next(&state) % 3);
            b.size[d] = b.from[d] + b.n[d] + (random_next(&state) % 2 ? random_next(&state) % 5 : 0);
        }
        check_box(&b);
    }
}

/* More blocks than are looked at one by one. */
static void large_boxes(void **unused)
{
    (void)unused;
    struct box flat = {.dims = 2, .size = {4096, 1024}, .n = {2048, 3}, .from = {2048, 6}, .bytes = 4};
    struct box deep = {.dims = 4, .size = {32, 32, 32, 64}, .n = {16, 16, 8, 2}, .from = {16, 0, 8, 6}, .bytes = 8};
    check_box(&flat);
    check_box(&deep);
}

/* A transpose keeps MPI's order: it is not the plan of the same bytes taken row by row. */
static void transposes(void **unused)
{
    (void)unused;
    any_type byte = any_bytes(&room, 8);
    any_type rows8 = any_vector(&room, 16, 1, 512, any_vector(&room, 8, 1, 16, byte));
    any_type columns = any_vector(&room, 8, 1, 16, any_vector(&room, 16, 1, 512, byte));
    const struct tutti_plan *a = built(rows8), *b = built(columns);
    assert_ptr_not_equal(a, b);
    assert_int_equal(b->segment[0].dim[0].stride, 16);
    assert_int_equal(b->segment[0].dim[1].stride, 512);
    assert_int_equal(b->overlaps, 0);
    tutti_plan_drop(a);
    tutti_plan_drop(b);
    any_free(&room);
}

/* Where extents differ, plans do, and nothing else. */
static void extents(void **unused)
{
    (void)unused;
    any_type byte = any_bytes(&room, 4), vector = any_vector(&room, 3, 1, 8, byte);
    const struct tutti_plan *a = built(vector), *b = built(any_resized(&room, 0, 24, vector)),
                            *c = built(any_resized(&room, 0, 20, vector));
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(a, c);
    assert_int_equal(a->extent, 20);
    assert_int_equal(b->extent, 24);
    assert_true(a->id != b->id);
    const struct tutti_plan *d = tutti_plan_hold(a);
    tutti_plan_drop(a);
    tutti_plan_drop(c);
    assert_int_equal(d->segment[0].block, 4); /* still there */
    tutti_plan_drop(d);
    tutti_plan_drop(b);
    any_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes), cmocka_unit_test(large_boxes),
                                       cmocka_unit_test(transposes), cmocka_unit_test(extents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
