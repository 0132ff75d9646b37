/* Which kernels stay: by the forecast and the trial together, over loops of a program. Each turn of a loop is work of
 * the program, then some fetches, the first one behind the work. What counts is by which way the fetches behind work
 * go, in each trial and between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dtype/pack/stay_choice.h"

enum {
    USUAL = 40000,
    LAUNCHED = 9000, /* ns of a fetch, */
    SERVED = 5000,   /* and of one that a kernel which has stayed takes */
    TRIAL = TUTTI_STAY_TRIAL,
    MAY = 2 * TUTTI_STAY_PART,
    SEEN = TUTTI_STAY_TIMED /* fetches of a trial that kernels take, at least */
};

static struct tutti_stay_choice choice;
static uint64_t now;
static uint64_t stays_until; /* the kernel that is there; 0: none is */
static int waits_for_all;    /* the program waits for all kernels of the GPU, also one that stays */
static int in_vain;          /* kernels that had left before a fetch came */

static uint64_t jitter(void)
{
    static uint64_t random = 12345;
    random = random * 6364136223846793005u + 1;
    return (random >> 33) % 300;
}

/* A fetch behind `own` ns that the program takes, and `slower` ns more if a kernel is there. 1: a kernel took it. */
static int fetch(uint64_t own, uint64_t slower, uint64_t bytes)
{
    const uint64_t alone = own + (stays_until ? slower : 0) + jitter(),
                   away = waits_for_all && stays_until > now + alone ? stays_until - now + jitter() : alone,
                   begun = now + away;
    const int served = stays_until && begun < stays_until;
    const uint64_t stay_ns = tutti_stay_choose(&choice, begun, away, 1, bytes, USUAL);
    in_vain += stays_until && !served;
    now = begun + (served ? SERVED : LAUNCHED) + jitter();
    tutti_stay_fetched(&choice, now);
    stays_until = stay_ns ? now + stay_ns : 0;
    return served;
}

/* So many turns; returns how many fetches behind work kernels took. */
static int turns(int n, int each, uint64_t work, uint64_t slower, uint64_t bytes)
{
    int served = 0;
    for (int i = 0; i < n; i++) {
        served += fetch(work, slower, bytes);
        for (int k = 1; k < each; k++)
            (void)fetch(300, 0, bytes);
    }
    return served;
}

static void begin(void)
{
    choice = (struct tutti_stay_choice){.through = 0};
    now = 1000000;
    stays_until = 0;
    waits_for_all = in_vain = 0;
}

/* A trial and the turns until the next one. */
static void round_is(int each, uint64_t work, uint64_t slower, uint64_t bytes, int pays)
{
    const struct tutti_stay_trial *const trial = &choice.trial[bytes > 1 << 20];
    assert_in_range(turns(TRIAL, each, work, slower, bytes), SEEN, MAY + 2);
    const int first = turns(1, each, work, slower, bytes), rest = (int)trial->again - TRIAL,
              others = turns(rest - 1, each, work, slower, bytes);
    assert_int_equal(trial->stays, pays);
    assert_in_range(first + others, pays ? rest - 30 : 0, pays ? rest : 2);
}

/* Work of 10 to 100 us, hardly slowed by a kernel or by more than it saves; one to three fetches a turn. */
static void loops(void **state)
{
    (void)state;
    for (int each = 1; each <= 3; each++) {
        for (uint64_t work = 10000; work <= 100000; work += 15000) {
            for (int pays = 0; pays < 2; pays++) {
                begin();
                for (int round = 0; round < 10; round++)
                    round_is(each, work, pays ? 500 : 6000, 65536, pays);
            }
        }
    }
}

/* Behind work that lasts longer than kernels stay none does, and little is launched in vain. */
static void long_work(void **state)
{
    (void)state;
    begin();
    assert_int_equal(turns(8000, 2, TUTTI_STAY_THROUGH * USUAL + 5000, 0, 65536), 0);
    assert_in_range(in_vain, 0, 10);
}

/* A program that waits for all kernels of the GPU, as by cudaDeviceSynchronize(), waits for one that stays: seldom. */
static void device_waits(void **state)
{
    enum { TURNS = 20000 };
    (void)state;
    for (int each = 1; each <= 2; each++) {
        for (uint64_t work = 10000; work <= 100000; work += 30000) {
            begin();
            waits_for_all = 1;
            assert_int_equal(turns(TURNS, each, work, 0, 65536), 0);
            assert_in_range(in_vain, 1, TURNS / 100);
        }
    }
}

/* For long copies a kernel stays longer, by a trial of their own. */
static void long_copies(void **state)
{
    enum { LONG = 8 << 20, WORK = TUTTI_STAY_THROUGH * USUAL + LONG / 400 - 2000 };
    (void)state;
    begin();
    for (int round = 0; round < 5; round++)
        round_is(2, WORK, 0, LONG, 1);
    assert_int_equal(choice.trial[0].n, 0);
}

/* Behind no work kernels stay for the usual time. */
static void no_work(void **state)
{
    (void)state;
    begin();
    (void)turns(100, 1, 300, 0, 65536);
    assert_true(stays_until - now == USUAL);
    (void)turns(TRIAL + 100, 2, 20000, 500, 65536);
    assert_true(stays_until - now == TUTTI_STAY_THROUGH * USUAL);
    (void)fetch(1000000, 0, 65536); /* the loop has ended */
    (void)turns(100, 1, 300, 0, 65536);
    assert_true(stays_until - now == USUAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops),       cmocka_unit_test(long_work), cmocka_unit_test(device_waits),
        cmocka_unit_test(long_copies), cmocka_unit_test(no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
