/* Sums of a source, and the figures of a window made of them. */
#include "energy/source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct energy_source *energy_source_add(struct energy_sources *sources, int kind, const char *name)
{
    if (sources->n == ENERGY_SOURCES)
        return NULL;
    struct energy_source *source = &sources->source[sources->n++];
    *source = (struct energy_source){.about.kind = kind, .file = -1};
    snprintf(source->about.name, sizeof source->about.name, "%s", name);
    return source;
}

void energy_source_missing(struct energy_sources *sources, int kind, const char *name, const char *reason)
{
    struct energy_source *source = energy_source_add(sources, kind, name);
    if (source)
        snprintf(source->about.reason, sizeof source->about.reason, "%s", reason);
}

enum {
    LEARNED = 16 /* changes from which a counter's period is known */,
    PERIODS = 50 /* from reading to reading, which takes 6 ms and slows down launches */
};

/* The counter has changed since the reading before, `since` ago. The period is not learned too short, so that no update
 * is counted that did not happen. */
static void source_learn(struct energy_source *source, uint64_t now_ns, uint64_t since)
{
    if (!source->ops->dear || source->period_ns != 0)
        return;
    if (source->changes++ == 0)
        source->first_ns = now_ns - since;
    else if (source->changes > LEARNED)
        source->period_ns = (now_ns - source->first_ns) / (uint64_t)(source->changes - 1);
}

/* 1: the counter is read with this sample. One that could not be read is read each time. */
static int source_is_due(const struct energy_source *source, uint64_t now_ns)
{
    return !source->ops->dear || source->period_ns == 0 || !source->sums.counter_known ||
           now_ns - source->read_ns >= PERIODS * source->period_ns;
}

static void source_count(struct energy_source *source, const struct energy_reading *now, uint64_t now_ns)
{
    struct energy_sums *sums = &source->sums;
    const uint64_t before = source->counter_uj, value = now->counter_uj;
    sums->counter_known = now->has_counter;
    if (!now->has_counter)
        return;
    const uint64_t since = now_ns - source->read_ns;
    source->read_ns = now_ns;
    const int first = !source->counted; /* the rise is counted from here: readings before this one may have failed */
    source->counted = 1;
    source->counter_uj = value;
    if (first || value == before)
        return;
    const uint64_t fit = source->period_ns != 0 ? since / source->period_ns : 0;
    sums->updates += fit > 1 ? (long)fit : 1;
    source_learn(source, now_ns, since);
    if (value > before)
        sums->counter_j += (double)(value - before) * 1e-6;
    else if (source->range_uj >= before)
        sums->counter_j += (double)(source->range_uj - before + value) * 1e-6;
    else
        sums->back++;
}

void energy_source_sample(struct energy_source *source, uint64_t now_ns, int all)
{
    struct energy_sums *sums = &source->sums;
    const struct energy_reading before = source->last;
    struct energy_reading now = {.power_alone = !all && !source_is_due(source, now_ns),
                                 .average_w = NAN,
                                 .clock_mhz = NAN,
                                 .memory_clock_mhz = NAN,
                                 .celsius = NAN,
                                 .cap_w = NAN};
    source->ops->read(source, &now);
    if (!now.power_alone)
        source_count(source, &now, now_ns);
    const double seconds = sums->samples ? (double)(now_ns - sums->ns) * 1e-9 : 0;
    /* A reading that failed leaves a gap that the value before it fills. */
    if (!now.has_power && sums->samples)
        now.watts = before.watts;
    if (!now.has_module && sums->samples)
        now.module_watts = before.module_watts;
    sums->power_j += seconds * (before.watts + now.watts) / 2;
    sums->module_j += seconds * (before.module_watts + now.module_watts) / 2;
    sums->power_known = now.has_power;
    sums->module_known = now.has_module;
    sums->ns = now_ns;
    sums->samples++;
    source->last = now;
}

/* Why the counter says nothing of this window; empty: it does. */
static void figure_reason(const struct energy_source *source, const struct energy_sums *from,
                          const struct energy_sums *to, struct tutti_energy_figure *out)
{
    const char *text = "";
    if (!source->about.counter)
        text = "there is no energy counter";
    else if (!from->counter_known || !to->counter_known)
        text = source->last.reason[0] ? source->last.reason : "the counter could not be read";
    else if (to->back > from->back)
        text = "the counter went back: the driver was loaded again";
    else if (out->updates == 0)
        text =
            out->seconds >= 1 ? "the counter does not change" : "the window is shorter than an update of the counter";
    snprintf(out->reason, sizeof out->reason, "%s", text);
}

void energy_figure(const struct energy_source *source, const struct energy_sums *from, const struct energy_sums *to,
                   struct tutti_energy_figure *out)
{
    *out = (struct tutti_energy_figure){.joules = NAN,
                                        .integral = NAN,
                                        .difference = NAN,
                                        .average_w = NAN,
                                        .clock_mhz = NAN,
                                        .memory_clock_mhz = NAN,
                                        .celsius = NAN,
                                        .cap_w = NAN};
    out->seconds = (double)(to->ns - from->ns) * 1e-9;
    if (!source->ops) {
        snprintf(out->reason, sizeof out->reason, "%s", source->about.reason);
        return;
    }
    out->updates = to->updates - from->updates;
    out->samples = to->samples - from->samples;
    out->average_w = source->last.average_w;
    out->clock_mhz = source->last.clock_mhz;
    out->memory_clock_mhz = source->last.memory_clock_mhz;
    out->celsius = source->last.celsius;
    out->cap_w = source->last.cap_w;
    figure_reason(source, from, to, out);
    if (!out->reason[0])
        out->joules = to->counter_j - from->counter_j;
    if (from->power_known && to->power_known)
        out->integral = to->power_j - from->power_j;
    if (from->module_known && to->module_known && !isnan(out->joules)) {
        const double module = to->module_j - from->module_j;
        const int own_fits = !isnan(out->integral) && fabs(out->integral - out->joules) <= 0.05 * out->joules;
        if (!own_fits && (isnan(out->integral) || fabs(module - out->joules) < fabs(out->integral - out->joules))) {
            out->scope = TUTTI_ENERGY_MODULE;
            out->integral = module;
        }
    }
    if (out->joules > 0)
        out->difference = 100 * (out->integral - out->joules) / out->joules;
}
