/* Naps of forecast waits over random sequences of work. For every sequence no nap is longer than what the last
 * times allow, and what naps lose is at most a fiftieth of the time that the waits take, and one nap. forecast_test */
#include "progress/forecast.h"

#include <stdio.h>

#include "support/check.h"
#include "support/random.h"

static uint64_t state;

static uint64_t below(uint64_t n)
{
    return random_next(&state) % n;
}

/* A wait for work of `work_ns`, with naps that last `late` longer than asked. Returns the time that the nap lost. */
static uint64_t wait_once(struct tutti_forecast *f, uint64_t key, uint64_t work_ns, uint64_t late, uint64_t *asleep)
{
    const uint64_t nap = tutti_forecast_nap(f, key), slept = nap ? nap + late : 0;
    const int ended = nap && slept >= work_ns;
    tutti_forecast_note(f, key, ended ? slept : work_ns, nap, slept, ended);
    *asleep += ended ? work_ns : slept;
    return ended ? slept - work_ns : 0;
}

/* Work that always takes as long is slept through for the most of it, without a loss. */
static void test_steady(void)
{
    struct tutti_forecast f = {.late_ns = 0};
    uint64_t asleep = 0, lost = 0;
    for (int i = 0; i < 1000; i++)
        lost += wait_once(&f, 7, 1000000, 50000, &asleep);
    CHECK(lost == 0, "steady work lost %llu ns", (unsigned long long)lost);
    CHECK(asleep > 600 * UINT64_C(1000000), "steady work: %llu ns asleep", (unsigned long long)asleep);
    wait_once(&f, 7, 20000000, 5000000, &asleep); /* one nap is very late */
    CHECK(tutti_forecast_nap(&f, 7) == 0, "a nap right after one that was very late");
    asleep = 0;
    for (int i = 0; i < 1000; i++)
        wait_once(&f, 7, 1000000, 50000, &asleep);
    CHECK(asleep > 200 * UINT64_C(1000000), "steady work after a late nap: %llu ns asleep", (unsigned long long)asleep);
    asleep = 0;
    for (int i = 0; i < 1000; i++)
        wait_once(&f, 9, 100000, 50000, &asleep);
    /* Here naps last longer than such work: that is found out by the first ones. */
    CHECK(asleep <= 1000 * UINT64_C(100000) / TUTTI_FORECAST_SHARE, "short work: %llu ns asleep",
          (unsigned long long)asleep);
    asleep = 0;
    for (int i = 0; i < 1000; i++)
        wait_once(&f, 9, 100000, 5000, &asleep);
    CHECK(asleep > 200 * UINT64_C(100000), "short work, naps that end in time: %llu ns asleep",
          (unsigned long long)asleep);
    asleep = 0;
    for (int i = 0; i < 1000; i++)
        wait_once(&f, 0, 1000000, 50000, &asleep);
    CHECK(asleep == 0, "work without a name: %llu ns asleep", (unsigned long long)asleep);
}

/* Work that becomes longer and shorter as it is the worst: long until a nap is taken, then at once over. */
static void test_worst(void)
{
    struct tutti_forecast f = {.late_ns = 0};
    uint64_t total = 0, lost = 0, asleep = 0;
    int naps = 0;
    for (int i = 0; i < 100000; i++) {
        const uint64_t nap = tutti_forecast_nap(&f, 3), work = nap ? 1000 : 1000000, late = 50000;
        lost += wait_once(&f, 3, work, late, &asleep);
        total += nap ? nap + late : work;
        naps += nap > 0;
    }
    CHECK(naps > 10, "the worst work met %d naps", naps);
    CHECK(lost <= total / TUTTI_FORECAST_SHARE + 1000000, "the worst work lost %llu of %llu ns",
          (unsigned long long)lost, (unsigned long long)total);
}

static void test_random(void)
{
    enum { KEYS = 12 };
    for (int round = 0; round < 200; round++) {
        struct tutti_forecast f = {.late_ns = 0};
        uint64_t total[KEYS] = {0}, lost[KEYS] = {0}, usual[KEYS], last[KEYS][TUTTI_FORECAST_TIMES] = {{0}}, asleep = 0,
                 most[KEYS] = {0};
        for (int k = 0; k < KEYS; k++)
            usual[k] = 1000 + below(5000000);
        for (int i = 0; i < 2000; i++) {
            const int k = (int)below(KEYS);
            if (below(100) == 0)
                usual[k] = 1000 + below(5000000);
            const uint64_t work = usual[k] + below(usual[k] / 4 + 1), late = below(100000);
            const uint64_t nap = tutti_forecast_nap(&f, (uint64_t)k + 1);
            uint64_t least = UINT64_MAX;
            for (int t = 0; t < TUTTI_FORECAST_TIMES; t++)
                least = last[k][t] < least ? last[k][t] : least;
            CHECK(nap == 0 || (least > 0 && nap <= least / 8 * 7 + 8),
                  "a nap of %llu ns, the least of the last times is %llu", (unsigned long long)nap,
                  (unsigned long long)least);
            most[k] = nap + late > most[k] ? nap + late : most[k];
            lost[k] += wait_once(&f, (uint64_t)k + 1, work, late, &asleep);
            total[k] += work > nap + late || !nap ? work : nap + late;
            for (int t = 1; t < TUTTI_FORECAST_TIMES; t++)
                last[k][t - 1] = last[k][t];
            last[k][TUTTI_FORECAST_TIMES - 1] = nap && nap + late >= work ? 0 : work;
        }
        for (int k = 0; k < KEYS; k++)
            CHECK(lost[k] <= total[k] / TUTTI_FORECAST_SHARE + most[k], "round %d: lost %llu of %llu ns", round,
                  (unsigned long long)lost[k], (unsigned long long)total[k]);
    }
}

int main(void)
{
    state = check_seed();
    printf("seed %llu\n", (unsigned long long)state);
    test_steady();
    test_worst();
    test_random();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
