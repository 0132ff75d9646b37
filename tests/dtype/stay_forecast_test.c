/* When the kernel of a fetch stays for the next one: where the last bursts went on behind it, and in a burst that is
 * longer than all before; never where they ended, and ever more seldom where it stayed in vain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dtype/pack/stay_forecast.h"

enum { STAY = 20000 };

static uint64_t now = 1000000;
static int apart; /* the next ones end a burst */

/* A fetch that begins `after` ns after the end of the one before, and takes 5 us. */
static int fetch(struct tutti_stay_forecast *forecast, uint64_t after, int fits)
{
    now += after;
    const uint64_t stays = tutti_stay_forecast(forecast, now, fits, apart, STAY);
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

/* Bursts of `length` fetches, the first of each after `gap`: from the fifth burst on all kernels but the last stay. */
static void rhythm(unsigned length, uint64_t gap, int other)
{
    struct tutti_stay_forecast forecast = {0};
    for (int burst = 0; burst < 100; burst++) {
        for (unsigned i = 0; i < length; i++) {
            const int stays = fetch(&forecast, i == 0 ? gap : 10, 1);
            if (burst >= 5)
                assert_int_equal(stays, i + 1 < length);
        }
        if (other)
            assert_false(fetch(&forecast, 10, 0));
    }
}

static void rhythms(void **state)
{
    (void)state;
    for (unsigned length = 1; length <= TUTTI_STAY_POSITIONS; length++) {
        rhythm(length, STAY, 0);
        rhythm(length, 10, 1); /* other launches lie between the bursts */
    }
}

/* Bursts that are too long to be told apart by their positions end in vain, seldom. */
static void long_rhythm(void **state)
{
    (void)state;
    struct tutti_stay_forecast forecast = {0};
    int stayed = 0, vain = 0;
    for (int burst = 0; burst < 1000; burst++) {
        int stays = 0;
        for (int i = 0; i < 20; i++)
            stayed += stays = fetch(&forecast, i == 0 ? STAY : 10, 1);
        vain += stays;
    }
    assert_true(stayed > 1000 * 14 && vain < 1000);
}

/* Fetches that are apart end bursts, as a long pause does. */
static void apart_ones(void **state)
{
    (void)state;
    struct tutti_stay_forecast forecast = {0};
    for (int i = 0; i < 100; i++) {
        apart = i >= 20 && i % 4 == 0;
        const int stays = fetch(&forecast, 10, 1);
        if (i >= 60)
            assert_int_equal(stays, i % 4 < 3);
    }
    apart = 1;
    for (int i = 0; i < 100; i++)
        assert_false(fetch(&forecast, 10, 1) && i > 0);
    apart = 0;
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
    assert_int_equal(in_vain(100000, 5), 1); /* the fifth of the first burst, as no burst has ended there */
    assert_int_equal(in_vain(100000, 4), 0);
}

/* After some bursts that went on, it stays as before. */
static void comes_back(void **state)
{
    (void)state;
    struct tutti_stay_forecast forecast = {0};
    for (int i = 0; i < 5; i++)
        (void)fetch(&forecast, 10, 1);
    assert_false(fetch(&forecast, 10 * STAY, 1)); /* in vain */
    for (int burst = 0; burst < 20; burst++) {
        assert_false(fetch(&forecast, 10 * STAY, 1) && burst < 3);
        for (int i = 0; i < 30; i++)
            (void)fetch(&forecast, 10, 1);
    }
    for (int i = 0; i < TUTTI_STAY_POSITIONS - 1; i++)
        assert_true(fetch(&forecast, i == 0 ? 10 * STAY : 10, 1));
}

/* Fetches that follow closely by chance: a kernel stays in vain once in six fetches at most. */
static void by_chance(void **state)
{
    (void)state;
    for (unsigned close = 1; close < 10; close++) {
        struct tutti_stay_forecast forecast = {0};
        unsigned random = 12345 + close, vain = 0;
        int stays = 0;
        for (int i = 0; i < 100000; i++) {
            random = random * 1103515245u + 12345u;
            const int is_close = (random >> 16) % 10 < close;
            vain += stays && !is_close;
            stays = fetch(&forecast, is_close ? 10 : STAY, 1);
        }
        assert_true(vain < 100000 / 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_ones),  cmocka_unit_test(rhythms),        cmocka_unit_test(apart_ones),
        cmocka_unit_test(long_rhythm), cmocka_unit_test(in_vain_seldom), cmocka_unit_test(comes_back),
        cmocka_unit_test(by_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
