#include "core/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"

/* Times are counted in buckets: PARTS of each power of two, the first of them of single nanoseconds. */
enum { PARTS = 32, PART_BITS = 5, OCTAVES = 30, BUCKETS = PARTS * OCTAVES, SIZES = 40 };

_Atomic int tutti_trace_on = -1;

static const char *const names[TUTTI_TRACE_STEPS] = {
#define TUTTI_TRACE_STEP(id, name, text) name,
#include "core/trace.def"
#undef TUTTI_TRACE_STEP
};

/* By the size of the message: those of [2^s, 2^(s + 1)) bytes. */
static _Atomic uint32_t counts[SIZES][TUTTI_TRACE_STEPS][BUCKETS];

static _Thread_local struct {
    uint64_t last, bytes;
} mine;

static unsigned trace_bucket(uint64_t ns)
{
    if (ns < PARTS)
        return (unsigned)ns;
    const unsigned octave = 63 - (unsigned)__builtin_clzll(ns) - PART_BITS;
    const unsigned bucket = (octave + 1) * PARTS + ((unsigned)(ns >> octave) & (PARTS - 1));
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The middle of a bucket. */
static double trace_bucket_ns(unsigned bucket)
{
    if (bucket < PARTS)
        return bucket;
    const unsigned octave = bucket / PARTS - 1;
    return ((double)(bucket % PARTS + PARTS) + 0.5) * (double)(UINT64_C(1) << octave) - 0.5;
}

static struct tutti_trace_figure trace_figure(const uint32_t bucket[BUCKETS])
{
    struct tutti_trace_figure figure = {.median = 0};
    uint64_t before = 0;
    unsigned at = 0;
    for (unsigned b = 0; b < BUCKETS; b++)
        figure.count += bucket[b];
    while (at + 1 < BUCKETS && (before += bucket[at]) * 2 < figure.count)
        at++;
    figure.median = figure.count ? trace_bucket_ns(at) : 0;
    return figure;
}

/* One line a size and step at the end of a program that asked for it. */
static void trace_report(void)
{
    for (unsigned size = 0; size < SIZES; size++) {
        char text[1024] = "";
        size_t n = 0;
        for (int step = 0; step < TUTTI_TRACE_STEPS && n < sizeof text; step++) {
            uint32_t bucket[BUCKETS];
            for (unsigned b = 0; b < BUCKETS; b++)
                bucket[b] = atomic_load_explicit(&counts[size][step][b], memory_order_relaxed);
            const struct tutti_trace_figure figure = trace_figure(bucket);
            if (figure.count)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.0f (%llu times)", n ? ", " : "", names[step],
                                      figure.median, (unsigned long long)figure.count);
        }
        if (n)
            tutti_warn("where the time of messages of %llu bytes and more went, median ns: %s",
                       (unsigned long long)1 << size, text);
    }
}

static int trace_settle(void)
{
    int unknown = -1;
    const int on = tutti_settings()->stats == TUTTI_SET_STATS_TIMES;
    if (atomic_compare_exchange_strong(&tutti_trace_on, &unknown, on) && on)
        atexit(trace_report);
    return tutti_trace_on;
}

static void trace_count(enum tutti_trace_step step, uint64_t ns)
{
    const unsigned size = mine.bytes ? 63 - (unsigned)__builtin_clzll(mine.bytes) : 0;
    atomic_fetch_add_explicit(&counts[size < SIZES ? size : SIZES - 1][step][trace_bucket(ns)], 1,
                              memory_order_relaxed);
}

void tutti_trace_slow(enum tutti_trace_step step, uint64_t bytes)
{
    if (tutti_trace_on < 0 && !trace_settle())
        return;
    const uint64_t now = tutti_now_ns();
    mine.bytes = bytes ? bytes : mine.bytes;
    if (mine.last)
        trace_count(step, now - mine.last);
    mine.last = now;
}

uint64_t tutti_trace_stamp_slow(void)
{
    return tutti_trace_on > 0 ? tutti_now_ns() : 0;
}

void tutti_trace_way_slow(enum tutti_trace_step step, uint64_t stamp)
{
    const uint64_t now = tutti_now_ns();
    if (tutti_trace_on > 0 && stamp && now >= stamp)
        trace_count(step, now - stamp);
}

void tutti_trace_switch(int on)
{
    mine.last = 0; /* the first mark only begins */
    tutti_trace_on = on != 0;
}

void tutti_trace_take(struct tutti_trace_figure out[TUTTI_TRACE_STEPS])
{
    for (int step = 0; step < TUTTI_TRACE_STEPS; step++) {
        uint32_t bucket[BUCKETS] = {0};
        for (unsigned size = 0; size < SIZES; size++) {
            for (unsigned b = 0; b < BUCKETS; b++)
                bucket[b] += atomic_exchange_explicit(&counts[size][step][b], 0, memory_order_relaxed);
        }
        out[step] = trace_figure(bucket);
    }
}

const char *tutti_trace_name(int step)
{
    return step >= 0 && step < TUTTI_TRACE_STEPS ? names[step] : NULL;
}
