/* Kernels that stay through work of the program: the shorter way is taken after a trial, whichever it is, with single
 * long times among the fetches; and the other one once a later trial shows that it has become shorter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dtype/pack/stay_trial.h"

static uint64_t now = 1000000; /* the last fetch has ended */

/* So many fetches behind work, each with it `with` or `without` ns; behind each up to three others, which take longer
 * by themselves. Returns how many kernels stayed. */
static int fetches(struct tutti_stay_trial *trial, int n, uint64_t with, uint64_t without)
{
    static unsigned random = 12345;
    int stayed = 0;
    for (int i = 0; i < n; i++) {
        const int stays = tutti_stay_trial(trial, now, 1);
        random = random * 1103515245u + 12345u;
        now += (stays ? with : without) + ((random >> 16) % 4 == 0 ? (random >> 16) % 50000 : (random >> 16) % 300);
        stayed += stays;
        for (unsigned others = (random >> 20) % 4; others > 0; others--) {
            (void)tutti_stay_trial(trial, now, 0);
            now += 1000 + (random >> 16) % 9000;
        }
    }
    return stayed;
}

static void shorter_way(void **state)
{
    (void)state;
    enum { TRIAL = 2 * TUTTI_STAY_TRIES, REST = TUTTI_STAY_ROUND - TRIAL };
    for (uint64_t with = 20000; with <= 40000; with += 1000) {
        struct tutti_stay_trial trial = {0};
        if (with == 30000)
            continue;
        for (int round = 0; round < 5; round++) {
            assert_int_equal(fetches(&trial, TRIAL, with, 30000), TUTTI_STAY_TRIES);
            assert_int_equal(fetches(&trial, REST, with, 30000), with < 30000 ? REST : 0);
        }
    }
}

static void changes(void **state)
{
    (void)state;
    enum { TRIAL = 2 * TUTTI_STAY_TRIES };
    struct tutti_stay_trial trial = {0};
    (void)fetches(&trial, TRIAL, 20000, 30000);
    assert_int_equal(fetches(&trial, TUTTI_STAY_ROUND - TRIAL, 40000, 30000), TUTTI_STAY_ROUND - TRIAL);
    (void)fetches(&trial, TRIAL, 40000, 30000);
    assert_int_equal(fetches(&trial, TUTTI_STAY_ROUND - TRIAL, 40000, 30000), 0);
}

/* The first fetches of a way still see the other one. */
static void late_way(void **state)
{
    (void)state;
    struct tutti_stay_trial trial = {0};
    int ways[8] = {0};
    for (int i = 0; i < 3 * TUTTI_STAY_TRIES; i++) {
        for (int k = 7; k > 0; k--)
            ways[k] = ways[k - 1];
        ways[0] = tutti_stay_trial(&trial, now, 1);
        now += ways[6] ? 20000 : 30000;
    }
    assert_true(trial.stays);
    assert_true(trial.least[1] == 20000 && trial.least[0] == 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shorter_way),
        cmocka_unit_test(changes),
        cmocka_unit_test(late_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
