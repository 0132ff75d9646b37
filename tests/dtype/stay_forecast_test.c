/* When the kernel of a fetch stays for the next one: never before four close ones in a row, never after one that was
 * not close or did not fit, and ever more seldom where it stayed in vain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dtype/pack/stay_forecast.h"

enum { STAY = 20000 };

static uint64_t now = 1000000;

/* A fetch that begins `after` ns after the end of the one before, and takes 5 us. */
static int fetch(struct tutti_stay_forecast *forecast, uint64_t after, int fits)
{
    now += after;
    const uint64_t stays = tutti_stay_forecast(forecast, now, fits, STAY);
    assert_true(stays == 0 || stays == STAY);
    now += 5000;
    if (fits)
        forecast->ended = now;
    return stays != 0;
}

static void close_ones(void **state)
{
    (void)state;
    struct tutti_stay_forecast forecast = {0};
    assert_false(fetch(&forecast, 0, 1)); /* none before it */
    for (int i = 0; i < 3; i++)
        assert_false(fetch(&forecast, STAY - 1, 1));
    for (int i = 0; i < 100; i++)
        assert_true(fetch(&forecast, (uint64_t)(STAY - 1 - i), 1));
}

static void far_ones(void **state)
{
    (void)state;
    struct tutti_stay_forecast forecast = {0};
    for (int i = 0; i < 100; i++)
        assert_false(fetch(&forecast, i % 4 == 3 ? STAY : 10, 1));
}

static void other_launches(void **state)
{
    (void)state;
    struct tutti_stay_forecast forecast = {0};
    for (int i = 0; i < 100; i++)
        assert_false(fetch(&forecast, 10, i % 4 != 3));
}

/* Bursts of `length` close fetches: returns how many kernels stayed in vain in `bursts` of them. */
static int in_vain(int bursts, int length)
{
    struct tutti_stay_forecast forecast = {0};
    int vain = 0;
    for (int burst = 0; burst < bursts; burst++) {
        int stayed = 0;
        for (int i = 0; i < length; i++)
            stayed = fetch(&forecast, i == 0 ? 10 * STAY : 10, 1);
        vain += stayed;
    }
    return vain;
}

static void in_vain_seldom(void **state)
{
    (void)state;
    const int vain = in_vain(100000, 5); /* the fifth of a burst may stay, and no other comes soon */
    assert_true(vain > 12 && vain < 12 + 2 * 500000 / 4096);
    assert_int_equal(in_vain(100000, 4), 0);
}

/* One success, and it stays as before. */
static void comes_back(void **state)
{
    (void)state;
    struct tutti_stay_forecast forecast = {0};
    for (int i = 0; i < 5; i++)
        (void)fetch(&forecast, 10, 1);
    assert_false(fetch(&forecast, 10 * STAY, 1)); /* in vain */
    int until = 0;
    while (!fetch(&forecast, 10, 1))
        until++;
    assert_true(until <= 4);
    for (int i = 0; i < 20; i++)
        assert_true(fetch(&forecast, 10, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_ones),     cmocka_unit_test(far_ones),   cmocka_unit_test(other_launches),
        cmocka_unit_test(in_vain_seldom), cmocka_unit_test(comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
