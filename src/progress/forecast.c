#include "progress/forecast.h"

#include "core/clock.h"
#include "progress/pause.h"

enum { LATE_FIRST_NS = 15000 }; /* before a nap has been seen: waking up */

static unsigned forecast_row(uint64_t key)
{
    return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 61);
}
_Static_assert(TUTTI_FORECASTS == 8, "three bits of the hash");

uint64_t tutti_forecast_nap(const struct tutti_forecast *forecast, uint64_t key)
{
    const struct tutti_forecast_row *row = &forecast->row[forecast_row(key)];
    if (key == 0 || row->key != key || row->known < TUTTI_FORECAST_TIMES)
        return 0;
    uint64_t least = row->took_ns[0];
    for (int i = 1; i < TUTTI_FORECAST_TIMES; i++)
        least = row->took_ns[i] < least ? row->took_ns[i] : least;
    const uint64_t late = forecast->late_ns ? forecast->late_ns : LATE_FIRST_NS, reserve = least / 8 + 2 * late;
    if (least < reserve + TUTTI_FORECAST_LEAST_NS)
        return 0;
    const uint64_t all = least - reserve, nap = all < TUTTI_FORECAST_MOST_NS ? all : TUTTI_FORECAST_MOST_NS;
    /* Should the work end at once this time, the nap and its lateness are lost. */
    return row->lost_ns + nap + late <= row->total_ns / TUTTI_FORECAST_SHARE ? nap : 0;
}

uint64_t tutti_forecast_sleep(const struct tutti_forecast *forecast, uint64_t key, uint64_t *slept_ns)
{
    const uint64_t nap = tutti_forecast_nap(forecast, key), start = nap ? tutti_now_ns() : 0;
    if (nap)
        tutti_nap((unsigned)(nap / 1000));
    *slept_ns = nap ? tutti_now_ns() - start : 0;
    return nap;
}

void tutti_forecast_note(struct tutti_forecast *forecast, uint64_t key, uint64_t took_ns, uint64_t asked_ns,
                         uint64_t slept_ns, int ended)
{
    struct tutti_forecast_row *row = &forecast->row[forecast_row(key)];
    if (key == 0)
        return;
    if (row->key != key)
        *row = (struct tutti_forecast_row){.key = key};
    row->total_ns += took_ns;
    if (asked_ns > 0) {
        const uint64_t late = slept_ns > asked_ns ? slept_ns - asked_ns : 0, faded = forecast->late_ns / 16 * 15;
        forecast->late_ns = late > faded ? late : faded;
    } else if (forecast->late_ns > LATE_FIRST_NS) { /* one very late nap does not end naps for good */
        forecast->late_ns -= forecast->late_ns / 128;
    }
    if (asked_ns > 0 && ended) { /* the work became shorter: how long it took is not known */
        row->lost_ns += slept_ns;
        row->known = 0;
        return;
    }
    row->took_ns[row->known % TUTTI_FORECAST_TIMES] = took_ns;
    /* Times beyond the first four take the place of the oldest. */
    row->known = row->known + 1 < 2 * TUTTI_FORECAST_TIMES ? row->known + 1 : TUTTI_FORECAST_TIMES;
}
