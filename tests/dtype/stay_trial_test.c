/* Kernels that stay through work of the program: the shorter way is taken after a trial, whichever it is, with single
 * long times among the fetches, also where kernels stay only behind some fetches for which they may; and the other one
 * once a later trial shows that it has become shorter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dtype/pack/stay_trial.h"

enum { TRIAL = TUTTI_STAY_WITH + TUTTI_STAY_WITHOUT, REST = TUTTI_STAY_ROUND - TRIAL };

static uint64_t now = 1000000; /* the last fetch has ended */
static int served;             /* a kernel that had stayed took it */

/* A kernel stays behind a fetch if it may, and might have behind so many before. */
static unsigned begins, in_a_row;

static int stays_really(int may)
{
    in_a_row = may ? in_a_row + 1 : 0;
    return in_a_row > begins;
}

/* So many fetches behind work, each with it `with` or `without` ns; behind each up to three others, which take longer
 * by themselves. Returns behind how many kernels might stay. */
static int fetches(struct tutti_stay_trial *trial, int n, uint64_t with, uint64_t without)
{
    static unsigned random = 12345;
    static int there;
    int stayed = 0;
    for (int i = 0; i < n; i++) {
        const int may = tutti_stay_trial(trial, now, served, 1);
        random = random * 1103515245u + 12345u;
        served = there;
        now += (served ? with : without) + ((random >> 16) % 4 == 0 ? (random >> 16) % 50000 : (random >> 16) % 300);
        there = stays_really(may);
        stayed += may;
        for (unsigned others = (random >> 20) % 4; others > 0; others--) {
            (void)tutti_stay_trial(trial, now, served, 0);
            served = others % 2 == 0;
            now += 1000 + (random >> 16) % 9000;
        }
    }
    return stayed;
}

static void shorter_way(void **state)
{
    (void)state;
    for (begins = 0; begins <= 20; begins += 10) {
        for (uint64_t with = 20000; with <= 40000; with += 2000) {
            struct tutti_stay_trial trial = {.n = 0};
            for (int round = 0; round < 20; round++) {
                assert_int_equal(fetches(&trial, TRIAL, with, 30000), TUTTI_STAY_WITH);
                assert_int_equal(fetches(&trial, REST, with, 30000), with < 30000 ? REST : 0);
            }
        }
    }
}

/* What saves next to nothing is not worth it, nor what never happens. */
static void little(void **state)
{
    (void)state;
    struct tutti_stay_trial trial = {.n = 0};
    begins = 10;
    (void)fetches(&trial, TRIAL, 29700, 30000);
    assert_int_equal(fetches(&trial, REST, 29700, 30000), 0);
    for (int round = 0; round < 20; round++) {
        begins = 10000;
        assert_int_equal(fetches(&trial, TRIAL, 20000, 30000), TUTTI_STAY_WITH);
        assert_int_equal(fetches(&trial, REST, 20000, 30000), 0);
    }
}

static void changes(void **state)
{
    (void)state;
    struct tutti_stay_trial trial = {.n = 0};
    begins = 0;
    (void)fetches(&trial, TRIAL, 20000, 30000);
    assert_int_equal(fetches(&trial, REST, 40000, 30000), REST);
    (void)fetches(&trial, TRIAL, 40000, 30000);
    assert_int_equal(fetches(&trial, REST, 40000, 30000), 0);
    (void)fetches(&trial, TRIAL, 20000, 30000);
    assert_int_equal(fetches(&trial, REST, 40000, 30000), REST);
}

/* Usual fetches and long copies in turns, each behind work, and others behind none: kernels stay for those alone for
 * which that takes less. */
static void kinds(void **state)
{
    (void)state;
    for (int pays = 0; pays < 2; pays++) { /* for long copies */
        struct tutti_stay_trial trials[TUTTI_STAY_KINDS] = {{.n = 0}};
        int stayed[2] = {0}, there[2] = {0};
        for (int i = 0; i < 2 * TRIAL; i++) {
            for (int is_long = 0; is_long < 2; is_long++) {
                const int stays = tutti_stay_trials(trials, now, served, 1, is_long);
                const uint64_t with = is_long == pays ? 20000 : 40000;
                served = there[is_long]; /* as the last ones of that kind */
                there[is_long] = stays;
                now += (served ? with : 30000) + (is_long ? 50000 : 0);
                stayed[is_long] += i >= TRIAL && stays;
                for (int others = i % 3; others > 0; others--) {
                    assert_false(tutti_stay_trials(trials, now, served, 0, others % 2));
                    served = 0;
                    now += 5000;
                }
            }
        }
        assert_int_equal(stayed[pays], TRIAL);
        assert_int_equal(stayed[!pays], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shorter_way),
        cmocka_unit_test(little),
        cmocka_unit_test(changes),
        cmocka_unit_test(kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
