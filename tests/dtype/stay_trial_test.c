/* Kernels that stay through work of the program: the shorter way is taken after a trial, whichever it is, with single
 * long and short times among the fetches, also where kernels stay only behind some fetches for which they may; and the
 * other one once a later trial shows that it has become shorter. A trial during which the program begins to do
 * something else is soon followed by another one. The work between fetches may differ from place to place of a loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dtype/pack/stay_trial.h"

enum { TRIAL = TUTTI_STAY_TRIAL, MAY = 2 * TUTTI_STAY_PART };

static struct tutti_stay_trial trial;
static uint64_t now = 1000000; /* the last fetch has ended */
static int served;             /* a kernel that had stayed took it */

/* A kernel stays behind a fetch if it may, and might have behind so many before. */
static unsigned begins, in_a_row;

static int stays_really(int may)
{
    in_a_row = may ? in_a_row + 1 : 0;
    return in_a_row > begins;
}

static unsigned random_next(void)
{
    static unsigned random = 12345;
    return (random = random * 1103515245u + 12345u) >> 16;
}

/* So many fetches behind work, each with it `with` or `without` ns, one of five up to 50 us more, one of twenty of
 * those that `shorter` names (1: with; 0: without) next to nothing; behind each up to three others, which take longer
 * by themselves. Returns behind how many kernels might stay. */
static int fetches(int n, uint64_t with, uint64_t without, int shorter)
{
    static int there;
    int stayed = 0;
    for (int i = 0; i < n; i++) {
        const int may = tutti_stay_trial(&trial, now, 1);
        const unsigned drawn = random_next();
        served = there;
        now += served == shorter && random_next() % 20 == 0
                   ? 1000
                   : (served ? with : without) + (drawn % 5 == 0 ? drawn % 50000 : drawn % 300);
        there = stays_really(may);
        stayed += may;
        for (unsigned others = drawn / 16 % 4; others > 0; others--) {
            (void)tutti_stay_trial(&trial, now, 0);
            served = others % 2 == 0;
            now += 1000 + drawn % 9000;
        }
    }
    return stayed;
}

/* From the end of a trial to the next one. */
static int rest(void)
{
    return (int)trial.again - TRIAL;
}

static void begin(unsigned behind)
{
    trial = (struct tutti_stay_trial){.n = 0};
    begins = behind;
}

/* A trial and the fetches until the next one. */
static void round_is(uint64_t with, uint64_t without, int stays, unsigned again)
{
    const int shorter = !stays; /* of the longer way */
    assert_int_equal(fetches(TRIAL, with, without, shorter), MAY);
    const int first = fetches(1, with, without, shorter);
    assert_int_equal(trial.again, again);
    assert_int_equal(first + fetches(rest() - 1, with, without, shorter), stays ? rest() : 0);
}

static void shorter_way(void **state)
{
    (void)state;
    for (unsigned behind = 0; behind <= 12; behind += 4) {
        for (uint64_t with = 20000; with <= 40000; with += 2000) {
            begin(behind);
            const int stays = with < 30000;
            round_is(with, 30000, stays, TUTTI_STAY_AGAIN);
            for (unsigned again = 2 * TUTTI_STAY_AGAIN, i = 0; i < 8; i++) {
                round_is(with, 30000, stays, again);
                again = again < TUTTI_STAY_AGAIN_MOST ? 2 * again : again;
            }
        }
    }
}

/* What saves next to nothing is not worth it, nor what happens seldom. */
static void little(void **state)
{
    (void)state;
    begin(8);
    round_is(29800, 30000, 0, TUTTI_STAY_AGAIN);
    for (int i = 0; i < 20; i++) {
        begin(i % 2 ? 10000 : TUTTI_STAY_PART - 3);
        round_is(20000, 30000, 0, TUTTI_STAY_AGAIN);
    }
    begin(0);
    round_is(20000, 30000, 1, TUTTI_STAY_AGAIN);
    begins = 10000; /* none stays any more, though it may */
    round_is(20000, 30000, 0, TUTTI_STAY_AGAIN);
}

static void changes(void **state)
{
    (void)state;
    begin(0);
    round_is(20000, 30000, 1, TUTTI_STAY_AGAIN);
    round_is(20000, 30000, 1, 2 * TUTTI_STAY_AGAIN);
    round_is(40000, 30000, 0, TUTTI_STAY_AGAIN);
    round_is(40000, 30000, 0, 2 * TUTTI_STAY_AGAIN);
    round_is(20000, 30000, 1, TUTTI_STAY_AGAIN);
}

/* During the trial the program begins with longer or shorter work, in which kernels that stay cost more than they save.
 */
static void straddles(void **state)
{
    (void)state;
    int wrong = 0;
    for (int longer = 0; longer < 2; longer++) {
        const uint64_t first = longer ? 20000 : 60000, second = longer ? 60000 : 20000;
        for (int at = 0; at <= TRIAL; at++) {
            begin(5);
            (void)fetches(at, first + 8000, first, -1);
            (void)fetches(TRIAL - at, second + 8000, second, -1);
            (void)fetches(1, second + 8000, second, -1);
            wrong += trial.stays;
            assert_int_equal(trial.again, TUTTI_STAY_AGAIN);
            (void)fetches(rest() - 1, second + 8000, second, -1);
            round_is(second + 8000, second, 0, trial.stays ? TUTTI_STAY_AGAIN : 2 * TUTTI_STAY_AGAIN);
        }
    }
    assert_in_range(wrong, 0, TRIAL / 4); /* of two times as many */
}

/* Loops of some fetches, each behind work of a length of its own, which a kernel that stays makes shorter or longer
 * everywhere: each trial shows which, wherever in the loop it begins. */
static void places(void **state)
{
    enum { MOST = TUTTI_STAY_PART, ROUNDS = 6 };
    (void)state;
    for (int turn = 1; turn <= MOST; turn++) {
        if (TUTTI_STAY_TIMED % turn != 0 && TUTTI_STAY_PART % turn != 0)
            continue;
        for (int pays = 0; pays < 2; pays++) {
            uint64_t work[MOST];
            int place = 0, there = 0, right = 0, trials = 0;
            for (int i = 0; i < turn; i++)
                work[i] = 10000 + random_next() % 90000;
            begin(0);
            for (int i = 0; i < ROUNDS * TUTTI_STAY_AGAIN_MOST; i++) {
                const unsigned decided = trial.n == TRIAL;
                const int may = tutti_stay_trial(&trial, now, 1);
                const uint64_t gain = there ? 4000 : 0;
                trials += decided != 0;
                right += decided && trial.stays == pays;
                now += work[place] + random_next() % 300 + (pays ? 4000 - gain : gain);
                there = may;
                place = (place + 1) % turn;
            }
            assert_in_range(trials, ROUNDS, INT32_MAX);
            assert_int_equal(right, trials);
        }
    }
}

/* Of the parts in which none may stay each timed fetch counts, from the first to the last one, and none of those
 * before: one more long time among those that do not count moves a long one to those that do. */
static void timed(void **state)
{
    enum { SHORT = 64000, LONG = 100000, SPARE = TUTTI_STAY_TIMED / 3 };
    (void)state;
    for (int at = 0; at < TUTTI_STAY_PART; at++) {
        begin(0);
        for (int i = 0; i <= TRIAL; i++) {
            const int place = i % TUTTI_STAY_PART, may = tutti_stay_trial(&trial, now, 1),
                      other = place + (place < at), /* its number among those of the part but `at` */
                is_long = i < TRIAL && !may && (place == at || other >= TUTTI_STAY_PART - SPARE);
            now += is_long ? LONG : SHORT;
        }
        assert_int_equal(trial.stays, at >= TUTTI_STAY_SETTLES);
        assert_int_equal(trial.again, TUTTI_STAY_AGAIN);
    }
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
                const int stays = tutti_stay_trials(trials, now, 1, is_long);
                const uint64_t with = is_long == pays ? 20000 : 40000;
                served = there[is_long]; /* as the last ones of that kind */
                there[is_long] = stays;
                now += (served ? with : 30000) + (is_long ? 50000 : 0);
                stayed[is_long] += i >= TRIAL && stays;
                for (int others = i % 3; others > 0; others--) {
                    assert_false(tutti_stay_trials(trials, now, 0, others % 2));
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
        cmocka_unit_test(shorter_way), cmocka_unit_test(little), cmocka_unit_test(changes), cmocka_unit_test(straddles),
        cmocka_unit_test(places),      cmocka_unit_test(kinds),  cmocka_unit_test(timed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
