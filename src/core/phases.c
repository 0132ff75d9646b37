#include "core/phases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"

#ifdef TUTTI_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

enum { RECORDING = 1, RANGES = 2 };

_Atomic int tutti_phases_on = -1;

static const struct {
    const char *name;
} rows[TUTTI_PHASES] = {
#define TUTTI_PHASE(id, name, text) {name},
#include "core/phases.def"
#undef TUTTI_PHASE
};

static _Thread_local struct {
    int depth; /* calls within calls */
    int held;
    enum tutti_phase now;
    uint64_t since, calls, ns[TUTTI_PHASES];
} mine;

/* Of all threads, for the line at the end of a program that asked for it. */
static _Atomic uint64_t all_ns[TUTTI_PHASES], all_calls;

static void phases_report(void)
{
    char text[512] = "";
    uint64_t calls = all_calls;
    size_t n = 0;
    for (int p = 0; p < TUTTI_PHASES && n < sizeof text; p++) {
        if (all_ns[p] > 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.2f", n ? ", " : "", rows[p].name,
                                  (double)all_ns[p] * 1e-3 / (double)calls);
    }
    if (calls > 0)
        tutti_warn("where the time of %llu blocking reductions went, us each: %s", (unsigned long long)calls, text);
}

static int phases_settle(void)
{
    const struct tutti_settings *settings = tutti_settings();
    int unknown = -1;
    int on = settings->stats == TUTTI_SET_STATS_TIMES ? RECORDING | (tutti_phases_have_nvtx() ? RANGES : 0) : 0;
    if (atomic_compare_exchange_strong(&tutti_phases_on, &unknown, on) && settings->stats == TUTTI_SET_STATS_TIMES)
        atexit(phases_report);
    return tutti_phases_on;
}

#ifdef TUTTI_HAVE_NVTX
static void range_push(const char *text)
{
    if (tutti_phases_on & RANGES)
        nvtxRangePushA(text);
}
static void range_pop(void)
{
    if (tutti_phases_on & RANGES)
        nvtxRangePop();
}
#else
static void range_push(const char *text)
{
    (void)text;
}
static void range_pop(void)
{
}
#endif

static void add_until(uint64_t now)
{
    if (!(tutti_phases_on & RECORDING))
        return;
    mine.ns[mine.now] += now - mine.since;
    atomic_fetch_add_explicit(&all_ns[mine.now], now - mine.since, memory_order_relaxed);
}

void tutti_phase_begin_slow(const char *call)
{
    if ((tutti_phases_on < 0 && !phases_settle()) || mine.depth++ > 0)
        return;
    range_push(call);
    range_push(rows[TUTTI_PHASE_ARRIVAL].name);
    mine.now = TUTTI_PHASE_ARRIVAL;
    mine.held = 0;
    mine.since = tutti_now_ns();
}

enum tutti_phase tutti_phase_slow(enum tutti_phase phase)
{
    enum tutti_phase was = mine.now;
    if (mine.depth == 0 || mine.held || phase == was)
        return phase;
    uint64_t now = tutti_now_ns();
    add_until(now);
    range_pop();
    range_push(rows[phase].name);
    mine.now = phase;
    mine.since = now;
    return was;
}

void tutti_phase_end_slow(void)
{
    if (mine.depth == 0 || --mine.depth > 0)
        return;
    add_until(tutti_now_ns());
    if (tutti_phases_on & RECORDING) {
        mine.calls++;
        all_calls++;
    }
    range_pop();
    range_pop();
}

void tutti_phase_hold_slow(int on)
{
    mine.held = on;
}

void tutti_phases_switch(int on)
{
    int was = tutti_phases_on < 0 ? phases_settle() : tutti_phases_on;
    tutti_phases_on = on ? was | RECORDING : was & ~RECORDING;
}

uint64_t tutti_phases_take(uint64_t ns[TUTTI_PHASES])
{
    uint64_t calls = mine.calls;
    memcpy(ns, mine.ns, sizeof mine.ns);
    memset(mine.ns, 0, sizeof mine.ns);
    mine.calls = 0;
    return calls;
}

const char *tutti_phase_name(int phase)
{
    return phase >= 0 && phase < TUTTI_PHASES ? rows[phase].name : NULL;
}

int tutti_phases_have_nvtx(void)
{
#ifdef TUTTI_HAVE_NVTX
    return 1;
#else
    return 0;
#endif
}
