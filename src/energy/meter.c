/* Opening and closing of a meter, and its thread, which sleeps between samples and keeps off the ranks' cores. */
#include "energy/meter.h"

#include <stdlib.h>
#include <string.h>

#include "core/affinity.h"
#include "core/clock.h"
#include "core/launched.h"
#include "core/settings.h"
#include "core/status.h"

static void meter_keep(struct tutti_energy *meter, uint64_t now_ns)
{
    const int width = 1 + 2 * meter->sources.n;
    if (meter->n_kept == meter->room_kept) {
        const long room = meter->room_kept ? 2 * meter->room_kept : 1024;
        double *grown = realloc(meter->kept, (size_t)room * (size_t)width * sizeof *grown);
        if (!grown)
            return;
        meter->kept = grown;
        meter->room_kept = room;
    }
    double *row = meter->kept + meter->n_kept * width, *before = meter->n_kept ? row - width : NULL;
    row[0] = (double)(now_ns - meter->opened_ns) * 1e-9;
    for (int i = 0; i < meter->sources.n; i++) {
        const struct energy_source *source = &meter->sources.source[i];
        const double seconds = before ? row[0] - before[0] : 0;
        row[2 + 2 * i] = source->sums.counter_known ? source->sums.counter_j : __builtin_nan("");
        row[1 + 2 * i] = source->sums.power_known ? source->last.watts
                         : seconds > 0            ? (row[2 + 2 * i] - before[2 + 2 * i]) / seconds
                                                  : __builtin_nan("");
    }
    meter->n_kept++;
}

static void meter_sample(struct tutti_energy *meter, uint64_t now_ns, int all)
{
    for (int i = 0; i < meter->sources.n; i++) {
        if (meter->sources.source[i].ops)
            energy_source_sample(&meter->sources.source[i], now_ns, all || meter->trace);
        else
            meter->sources.source[i].sums.ns = now_ns;
    }
    if (meter->trace)
        meter_keep(meter, now_ns);
}

void energy_meter_sample(struct tutti_energy *meter, uint64_t now_ns)
{
    meter_sample(meter, now_ns, 1);
}

void energy_meter_tick(struct tutti_energy *meter, uint64_t now_ns)
{
    meter_sample(meter, now_ns, 0);
}

static void *meter_read(void *with)
{
    struct tutti_energy *meter = with;
    tutti_thread_roam();
    pthread_mutex_lock(&meter->lock);
    uint64_t next = meter->opened_ns;
    while (!meter->stop) {
        const uint64_t now = tutti_now_ns(), step = (uint64_t)meter->interval_ms * 1000000u;
        next = next + step > now ? next + step : now + step; /* one that was late skips samples */
        const struct timespec until = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
        pthread_cond_timedwait(&meter->wake, &meter->lock, &until);
        if (!meter->stop && tutti_now_ns() >= next)
            energy_meter_tick(meter, tutti_now_ns());
    }
    pthread_mutex_unlock(&meter->lock);
    return NULL;
}

static const char *meter_path(const char *option, const char *setting)
{
    return option ? option : setting;
}

int energy_meter_make(const struct tutti_energy_options *options, struct tutti_energy **out)
{
    static const struct tutti_energy_options usual;
    const struct tutti_settings *settings = tutti_settings();
    const struct tutti_energy_options *o = options ? options : &usual;
    struct tutti_energy *meter = calloc(1, sizeof *meter);
    if (!meter)
        return TUTTI_ERR_MEMORY;
    meter->interval_ms = o->interval_ms > 0 ? o->interval_ms : (int)settings->energy_interval_ms;
    meter->trace = o->trace;
    if (!o->every_rank && tutti_launched_local_rank() > 0) {
        static const char *const names[TUTTI_ENERGY_KINDS] = {"gpu", "package", "dram"};
        for (int kind = 0; kind < TUTTI_ENERGY_KINDS; kind++)
            energy_source_missing(&meter->sources, kind, names[kind], "the first rank of this node reads it");
    } else {
        meter->gpus = energy_gpus_open(&meter->sources, meter_path(o->nvml, settings->energy_nvml),
                                       meter_path(o->gpus, settings->energy_gpus));
        energy_domains_open(&meter->sources, meter_path(o->powercap, settings->energy_powercap),
                            o->cpuinfo ? o->cpuinfo : "/proc/cpuinfo");
    }
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&meter->wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&meter->lock, NULL);
    *out = meter;
    return TUTTI_OK;
}

int tutti_energy_open(const struct tutti_energy_options *options, struct tutti_energy **out)
{
    struct tutti_energy *meter;
    const int status = energy_meter_make(options, &meter);
    if (status != TUTTI_OK)
        return status;
    meter->opened_ns = tutti_now_ns();
    energy_meter_sample(meter, meter->opened_ns);
    if (pthread_create(&meter->thread, NULL, meter_read, meter) != 0) {
        tutti_energy_close(meter);
        return TUTTI_ERR_SYSTEM;
    }
    meter->running = 1;
    *out = meter;
    return TUTTI_OK;
}

void tutti_energy_close(struct tutti_energy *meter)
{
    if (!meter)
        return;
    if (meter->running) {
        pthread_mutex_lock(&meter->lock);
        meter->stop = 1;
        pthread_cond_signal(&meter->wake);
        pthread_mutex_unlock(&meter->lock);
        pthread_join(meter->thread, NULL);
    }
    for (int i = 0; i < meter->sources.n; i++) {
        struct energy_source *source = &meter->sources.source[i];
        if (source->ops)
            source->ops->close(source);
    }
    energy_gpus_close(meter->gpus);
    pthread_cond_destroy(&meter->wake);
    pthread_mutex_destroy(&meter->lock);
    free(meter->kept);
    free(meter);
}

int tutti_energy_sources(const struct tutti_energy *meter)
{
    return meter->sources.n;
}

int tutti_energy_source(const struct tutti_energy *meter, int source, struct tutti_energy_source *out)
{
    if (source < 0 || source >= meter->sources.n)
        return TUTTI_ERR_ARGUMENT;
    *out = meter->sources.source[source].about;
    return TUTTI_OK;
}

double tutti_energy_own_seconds(struct tutti_energy *meter)
{
    clockid_t clock;
    struct timespec t;
    if (!meter->running || pthread_getcpuclockid(meter->thread, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
