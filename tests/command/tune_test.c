/* What follows from measurements: choices that do not flicker, ends of rules, the verdict of the proof. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/tune/choose.h"
#include "coll/coll.h"
#include "shmem/proxy/proxy.h"

static struct tune_curve curve;

static void add(size_t bytes, int standard, double oneshot, double direct, double ll)
{
    struct tune_point *point = tune_point_add(&curve, bytes);
    assert_non_null(point);
    point->standard = standard;
    point->us[TUNE_oneshot] = oneshot;
    point->us[TUNE_direct] = direct;
    point->us[TUNE_ll] = ll;
}

static void expect(const char *rules)
{
    char text[512];
    tune_choose(&curve, 0.03);
    tune_rules(&curve, text, sizeof text);
    assert_string_equal(text, rules);
}

static int fresh(void **state)
{
    (void)state;
    curve = (struct tune_curve){.n = 0};
    return 0;
}

static void takes_the_fastest(void **state)
{
    (void)state;
    add(8192, TUNE_oneshot, 3, 2, 5);
    add(8, TUNE_oneshot, 2, 3, 1); /* in any order */
    add(2048, TUNE_oneshot, 2, 2.5, 2.2);
    expect("0-1028@ll 1028-5k@oneshot 5k-8k@direct");
    curve.whole = 1;
    expect("0-1028@ll 1028-5k@oneshot 5k-*@direct");
    assert_int_equal(curve.n, 3);
    assert_ptr_equal(tune_point_add(&curve, 2048), &curve.point[1]); /* it is there */
    assert_int_equal(curve.n, 3);
}

static void does_not_flicker(void **state)
{
    (void)state;
    add(8, TUNE_oneshot, 1.00, 0.99, 2); /* no clear win over the default */
    add(32, TUNE_oneshot, 1.00, 0.99, 2);
    expect("0-32@oneshot");
    fresh(state);
    add(8, TUNE_oneshot, 1.00, 1.05, 2);
    add(32, TUNE_oneshot, 1.00, 1.05, 2);
    add(128, TUNE_oneshot, 1.00, 1.05, 2);
    add(64, TUNE_oneshot, 1.00, 0.96, 2); /* one win is not enough to go there and back */
    expect("0-128@oneshot");
    add(64, TUNE_oneshot, 1.00, 0.90, 2); /* a large one is */
    expect("0-48@oneshot 48-96@direct 96-128@oneshot");
}

static void what_cannot_run_is_not_taken(void **state)
{
    (void)state;
    add(8, TUNE_direct, 0, 2, 1);
    add(1 << 20, TUNE_direct, 0, 2, 0);
    add(4 << 20, TUNE_direct, 0, 2, 0);
    expect("0-524292@ll 524292-4m@direct");
    curve.point[2].choice = TUNE_DEFAULT; /* the proof took it back */
    char text[512];
    tune_rules(&curve, text, sizeof text);
    assert_string_equal(text, "0-524292@ll 524292-2560k@direct");
    curve.point[0].choice = TUNE_DEFAULT;
    tune_rules(&curve, text, sizeof text);
    assert_string_equal(text, "524292-2560k@direct");
    curve.n = 0;
    tune_choose(&curve, 0.03);
    tune_rules(&curve, text, sizeof text);
    assert_string_equal(text, "");
    add(8, TUNE_DEFAULT, 0, 0, 0); /* nothing could be measured */
    expect("");
}

static void ways_of_messages(void **state)
{
    (void)state;
    struct tune_point *point = tune_point_add(&curve, 16384);
    point->standard = TUNE_way_direct;
    point->us[TUNE_way_staged] = 5;
    point->us[TUNE_way_packed] = 3;
    point->us[TUNE_way_direct] = 4;
    point = tune_point_add(&curve, 1 << 20);
    point->standard = TUNE_way_direct;
    point->us[TUNE_way_staged] = 50;
    point->us[TUNE_way_direct] = 20; /* no scratch for it */
    expect("0-520k@packed 520k-1m@direct");
}

static void looks_closer(void **state)
{
    (void)state;
    add(8, TUNE_ll, 3, 3, 1);
    add(32, TUNE_ll, 3, 3, 1);
    add(128, TUNE_ll, 3, 1, 2);
    tune_choose(&curve, 0.03);
    int rounds = 0;
    size_t bytes;
    for (; (bytes = tune_between(&curve)) > 0; rounds++) {
        assert_in_range(bytes, 33, 127);
        add(bytes, TUNE_ll, 3, bytes < 96 ? 2 : 1, bytes < 96 ? 1 : 2);
        tune_choose(&curve, 0.03);
    }
    assert_int_equal(rounds, 2); /* 64, 96 */
    expect("0-80@ll 80-128@direct");
    for (size_t i = 1; curve.n < TUNE_POINTS; i++)
        assert_non_null(tune_point_add(&curve, 1000 * i));
    assert_null(tune_point_add(&curve, 1));
    assert_int_equal(tune_between(&curve), 0);
}

/* The text is what the library takes for a threshold. */
static void puts_of_kernels(void **state)
{
    (void)state;
    uint64_t cutover[TSHMEM_CUTS][TSHMEM_GROUPS];
    char rules[512], text[600], wrong[320];
    for (size_t bytes = 1024; bytes <= 4 << 20; bytes *= 4) {
        struct tune_point *point = tune_point_add(&curve, bytes);
        point->standard = TUNE_way_direct;
        point->us[TUNE_way_direct] = 0.1 + (double)bytes / 32768;
        point->us[TUNE_copy_engine] = 8 + (double)bytes / 262144;
    }
    curve.whole = 1;
    expect("0-640k@direct 640k-*@copy_engine");
    tune_rules(&curve, rules, sizeof rules);
    snprintf(text, sizeof text, "shmem_get_128: %s", rules);
    assert_int_equal(tutti_rules_set(text, wrong, sizeof wrong), 0);
    assert_int_equal(tutti_cutovers(cutover), 1);
    assert_int_equal(cutover[TSHMEM_CUT_GET][TSHMEM_GROUP_128], (640 << 10) + 1);
    assert_int_equal(cutover[TSHMEM_CUT_PUT][TSHMEM_GROUP_128], 0);
    assert_int_equal(tutti_rules_set(NULL, wrong, sizeof wrong), 0);
    assert_int_equal(tutti_cutovers(cutover), 0); /* the tests' own rules say nothing */
}

static void judges(void **state)
{
    (void)state;
    double median, won[] = {0.9, 0.8, 1.2}, even[] = {1.01, 1.02, 0.99, 1.0}, lost[] = {1.05, 1.06, 1.04, 1.3, 1.02},
                   noisy[] = {1.10, 0.7, 0.8, 1.3, 1.05}, far[] = {0.9, 3, 0.9, 3, 3};
    assert_int_equal(tune_judge(won, 3, 0.03, &median), TUNE_KEPT);
    assert_true(median > 0.899 && median < 0.901);
    assert_int_equal(tune_judge(even, 4, 0.03, &median), TUNE_KEPT);
    assert_int_equal(tune_judge(lost, 5, 0.03, &median), TUNE_LOST);
    assert_int_equal(tune_judge(noisy, 5, 0.03, &median), TUNE_KEPT); /* within the noise */
    assert_int_equal(tune_judge(far, 5, 0.03, &median), TUNE_LOST);
    assert_int_equal(tune_judge(far, 0, 0.03, &median), TUNE_UNPROVEN);
}

static void names(void **state)
{
    (void)state;
    for (int a = 0; a < TUNE_ALGORITHMS; a++)
        assert_int_equal(tune_by_name(tune_name(a)), a);
    assert_int_equal(tune_by_name("packed"), TUNE_DEFAULT); /* a way of messages alone */
    assert_string_equal(tune_name(TUNE_way_packed), "packed");
    assert_int_equal(tune_by_name("direct"), TUNE_direct); /* both */
    assert_string_equal(tune_name(TUNE_way_direct), "direct");
    assert_string_equal(tune_name(TUNE_copy_engine), "copy_engine");
    assert_int_equal(tune_by_name("copy_engine"), TUNE_DEFAULT);
    assert_string_equal(tune_name(TUNE_CHOICES), "-");
    assert_int_equal(tune_by_name("mpi: host memory"), TUNE_DEFAULT);
    assert_string_equal(tune_name(TUNE_DEFAULT), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(takes_the_fastest, fresh),
        cmocka_unit_test_setup(does_not_flicker, fresh),
        cmocka_unit_test_setup(what_cannot_run_is_not_taken, fresh),
        cmocka_unit_test_setup(ways_of_messages, fresh),
        cmocka_unit_test_setup(looks_closer, fresh),
        cmocka_unit_test_setup(puts_of_kernels, fresh),
        cmocka_unit_test_setup(judges, fresh),
        cmocka_unit_test_setup(names, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
