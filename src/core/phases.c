#include "core/phases.h"

#include <string.h>

#include "core/clock.h"
#include "core/settings.h"

#ifdef TUTTI_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

enum { RECORDING = 1, RANGES = 2 };

_Atomic int tutti_phases_on = -1;

static const struct {
    const char *name, *text;
} rows[TUTTI_PHASES] = {
#define TUTTI_PHASE(id, name, text) {name, text},
#include "core/phases.def"
#undef TUTTI_PHASE
};

static _Thread_local struct {
    int depth; /* calls within calls */
    enum tutti_phase now;
    uint64_t since, calls, ns[TUTTI_PHASES];
} mine;

static int settle(void)
{
    const struct tutti_settings *settings = tutti_settings();
    int unknown = -1;
    int on = (settings->phases ? RECORDING : 0) | (settings->nvtx ? RANGES : 0);
    atomic_compare_exchange_strong(&tutti_phases_on, &unknown, on);
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
    if (tutti_phases_on & RECORDING)
        mine.ns[mine.now] += now - mine.since;
}

void tutti_phase_begin_slow(const char *call)
{
    if ((tutti_phases_on < 0 && !settle()) || mine.depth++ > 0)
        return;
    range_push(call);
    range_push(rows[TUTTI_PHASE_ARRIVAL].name);
    mine.now = TUTTI_PHASE_ARRIVAL;
    mine.since = tutti_now_ns();
}

enum tutti_phase tutti_phase_slow(enum tutti_phase phase)
{
    enum tutti_phase was = mine.now;
    if (mine.depth == 0 || phase == was)
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
    mine.calls += tutti_phases_on & RECORDING;
    range_pop();
    range_pop();
}

void tutti_phases_switch(int on)
{
    int was = tutti_phases_on < 0 ? settle() : tutti_phases_on;
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

const char *tutti_phase_text(int phase)
{
    return phase >= 0 && phase < TUTTI_PHASES ? rows[phase].text : NULL;
}

int tutti_phases_have_nvtx(void)
{
#ifdef TUTTI_HAVE_NVTX
    return 1;
#else
    return 0;
#endif
}
