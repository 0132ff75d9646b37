/* The bench's own check of results: right data passes, any wrong bit does not, another order passes only where asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/reductions/data.h"
#include "core/types.h"
#include "kernels/reduce.h"

enum { RANKS = 5, COUNT = 5000 };

static char *inputs[RANKS], *result;

/* The library's reduction of the bench's data, in rank order or from the last rank to the first. */
static void reduce(int type, int op, uint64_t seed, int backwards)
{
    const void *in[RANKS];
    for (int r = 0; r < RANKS; r++) {
        bench_fill(type, op, seed, r, 0, COUNT, inputs[r]);
        in[backwards ? RANKS - 1 - r : r] = inputs[r];
    }
    tutti_reduce_host(type, op, RANKS, in, result, COUNT);
}

static void each_pair(void **state)
{
    (void)state;
    int pairs = 0;
    for (int type = 0; type < TUTTI_TYPES; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (!tutti_has_kernel(type, op))
                continue;
            struct bench_wrong wrong;
            reduce(type, op, 77, 0);
            if (!bench_check(type, op, 77, RANKS, 0, 1, result, COUNT, &wrong))
                fail_msg("%s of %s: element %zu is %s, right is %s", tutti_op_name(op), tutti_type_name(type),
                         wrong.element, wrong.got, wrong.right);
            size_t size = tutti_type_size(type), element = 4321;
            result[element * size] ^= 1; /* the lowest bit of a value, or of its real part */
            assert_false(bench_check(type, op, 77, RANKS, 0, 1, result, COUNT, &wrong));
            assert_int_equal(wrong.element, element);
            assert_string_not_equal(wrong.got, wrong.right);
            assert_false(bench_check(type, op, 78, RANKS, 0, 1, result, COUNT, &wrong)); /* other data */
            pairs++;
        }
    }
    assert_true(pairs > 100);
}

static void other_orders(void **state)
{
    (void)state;
    static const int types[] = {TUTTI_TYPE_F16, TUTTI_TYPE_BF16, TUTTI_TYPE_F32,
                                TUTTI_TYPE_F64, TUTTI_TYPE_C32,  TUTTI_TYPE_C64};
    for (int t = 0; t < 6; t++) {
        for (int op = TUTTI_OP_SUM; op <= TUTTI_OP_PROD; op++) {
            struct bench_wrong wrong;
            reduce(types[t], op, 5, 1);
            if (!bench_check(types[t], op, 5, RANKS, 0, 0, result, COUNT, &wrong))
                fail_msg("%s of %s in another order: element %zu is %s, right is %s", tutti_op_name(op),
                         tutti_type_name(types[t]), wrong.element, wrong.got, wrong.right);
            int half = types[t] == TUTTI_TYPE_F16 || types[t] == TUTTI_TYPE_BF16; /* rounded once: hides the order */
            if (!half)
                assert_false(bench_check(types[t], op, 5, RANKS, 0, 1, result, COUNT, &wrong));
            /* A contribution that is missing is no rounding. */
            const void *in[RANKS];
            for (int r = 0; r < RANKS; r++)
                in[r] = inputs[r];
            tutti_reduce_host(types[t], op, RANKS - 1, in, result, COUNT);
            assert_false(bench_check(types[t], op, 5, RANKS, 0, 0, result, COUNT, &wrong));
        }
    }
}

/* A rank of a reduce-scatter has a part of the vector. */
static void parts(void **state)
{
    (void)state;
    enum { FIRST = 1111, N = 2500 };
    struct bench_wrong wrong;
    size_t size = tutti_type_size(TUTTI_TYPE_F64);
    reduce(TUTTI_TYPE_F64, TUTTI_OP_SUM, 3, 0);
    char *part = result + FIRST * size;
    assert_true(bench_check(TUTTI_TYPE_F64, TUTTI_OP_SUM, 3, RANKS, FIRST, 1, part, N, &wrong));
    assert_false(bench_check(TUTTI_TYPE_F64, TUTTI_OP_SUM, 3, RANKS, FIRST + 1, 0, part, N, &wrong));
    assert_false(bench_check(TUTTI_TYPE_F64, TUTTI_OP_SUM, 3, RANKS - 1, FIRST, 0, part, N, &wrong)); /* a scan's */
    part[(N - 1) * size] ^= 1;
    assert_false(bench_check(TUTTI_TYPE_F64, TUTTI_OP_SUM, 3, RANKS, FIRST, 1, part, N, &wrong));
    assert_int_equal(wrong.element, FIRST + N - 1);
}

static void integers_have_one_result(void **state)
{
    (void)state;
    struct bench_wrong wrong;
    reduce(TUTTI_TYPE_I32, TUTTI_OP_SUM, 9, 1);
    assert_true(bench_check(TUTTI_TYPE_I32, TUTTI_OP_SUM, 9, RANKS, 0, 1, result, COUNT, &wrong));
    result[0] ^= 1;
    assert_false(bench_check(TUTTI_TYPE_I32, TUTTI_OP_SUM, 9, RANKS, 0, 0, result, COUNT, &wrong));
    assert_int_equal(wrong.element, 0);
}

static void data_is_not_constant(void **state)
{
    (void)state;
    for (int type = 0; type < TUTTI_TYPES; type++) {
        int op = tutti_has_kernel(type, TUTTI_OP_SUM) ? TUTTI_OP_SUM : TUTTI_OP_MINLOC;
        size_t bytes = COUNT * tutti_type_size(type);
        for (int r = 0; r < 4; r++)
            memset(inputs[r], 0, bytes); /* padding of pairs stays as it is */
        bench_fill(type, op, 1, 0, 0, COUNT, inputs[0]);
        bench_fill(type, op, 1, 1, 0, COUNT, inputs[1]);
        bench_fill(type, op, 2, 0, 0, COUNT, inputs[2]);
        bench_fill(type, op, 1, 0, 0, COUNT, inputs[3]);
        assert_memory_not_equal(inputs[0], inputs[1], bytes);
        assert_memory_not_equal(inputs[0], inputs[2], bytes);
        assert_memory_equal(inputs[0], inputs[3], bytes);
        bench_fill(type, op, 1, 0, 100, COUNT - 100, inputs[3]); /* elements do not depend on where a piece begins */
        assert_memory_equal(inputs[0] + 100 * tutti_type_size(type), inputs[3], bytes - 100 * tutti_type_size(type));
    }
}

int main(void)
{
    for (int r = 0; r < RANKS; r++)
        inputs[r] = calloc(COUNT, 16); /* zero, so that padding of pairs is the same everywhere */
    result = calloc(COUNT, 16);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_not_constant),
        cmocka_unit_test(each_pair),
        cmocka_unit_test(other_orders),
        cmocka_unit_test(parts),
        cmocka_unit_test(integers_have_one_result),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int r = 0; r < RANKS; r++)
        free(inputs[r]);
    free(result);
    return failed;
}
