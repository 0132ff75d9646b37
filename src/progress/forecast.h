/* Sleeping through a wait whose end can be forecast: the same work took as long the last times. The processor is free
 * meanwhile, and the wait is not longer: a nap ends before the forecast end, and naps that last beyond the end lose at
 * most a fiftieth of the time that waits for the work have taken so far.
 *
 *     uint64_t slept, nap = tutti_forecast_sleep(&forecast, key, &slept);
 *     int ended = done();
 *     ... waits as usual ...
 *     tutti_forecast_note(&forecast, key, took, nap, slept, ended);
 *
 * Not thread-safe: of one thread at a time. A nap lasts at most TUTTI_FORECAST_MOST_NS: the thread makes no progress
 * for others meanwhile. All zero at first. */
#ifndef TUTTI_PROGRESS_FORECAST_H
#define TUTTI_PROGRESS_FORECAST_H

#include <stdint.h>

enum {
    TUTTI_FORECASTS = 8,
    TUTTI_FORECAST_TIMES = 4,
    TUTTI_FORECAST_SHARE = 50,
    TUTTI_FORECAST_LEAST_NS = 50000,
    TUTTI_FORECAST_MOST_NS = 2000000
};

struct tutti_forecast {
    struct tutti_forecast_row {
        uint64_t key; /* of the work; 0: the row is free */
        uint64_t took_ns[TUTTI_FORECAST_TIMES];
        unsigned known;             /* the last so many times */
        uint64_t total_ns, lost_ns; /* of all waits; lost: at most so much, by naps that ended late */
    } row[TUTTI_FORECASTS];
    uint64_t late_ns; /* how much longer than asked naps last here */
};

/* Nanoseconds that the wait for the work `key` may begin with asleep; 0: none. key 0: never. */
uint64_t tutti_forecast_nap(const struct tutti_forecast *forecast, uint64_t key);
/* Sleeps so long, and returns it; *slept_ns: what it took. */
uint64_t tutti_forecast_sleep(const struct tutti_forecast *forecast, uint64_t key, uint64_t *slept_ns);
/* After the wait, which took took_ns with the nap. asked_ns: of the nap, slept_ns: what it took; 0: there was no nap.
 * ended: 1: when the nap ended, the work had ended already. */
void tutti_forecast_note(struct tutti_forecast *forecast, uint64_t key, uint64_t took_ns, uint64_t asked_ns,
                         uint64_t slept_ns, int ended);

#endif
