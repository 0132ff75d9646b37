/* A meter: sources, the thread that reads them, windows, samples. */
#ifndef TUTTI_ENERGY_METER_H
#define TUTTI_ENERGY_METER_H

#include <pthread.h>

#include "energy/source.h"

struct energy_window {
    int open;
    struct energy_sums from[ENERGY_SOURCES];
};

struct tutti_energy {
    struct energy_sources sources;
    const void *gpus;
    pthread_mutex_t lock; /* of all below, and of the sums of the sources */
    pthread_cond_t wake;
    pthread_t thread;
    int running, stop, interval_ms;
    uint64_t opened_ns;
    struct energy_window window[ENERGY_WINDOWS];
    /* Samples that are kept: for each 1 + 2 * sources.n numbers. */
    int trace;
    double *kept;
    long n_kept, room_kept;
};

/* Reads all sources as of now_ns. The caller holds the lock, or is alone. */
void energy_meter_sample(struct tutti_energy *meter, uint64_t now_ns);
/* A sample of the thread: dear counters are read with some of them alone, unless a trace is kept. */
void energy_meter_tick(struct tutti_energy *meter, uint64_t now_ns);
/* As tutti_energy_open(), without the thread: a test samples at times of its own. */
int energy_meter_make(const struct tutti_energy_options *options, struct tutti_energy **out);
/* As tutti_energy_begin() and tutti_energy_look(), of the sums as they are. */
int energy_window_begin(struct tutti_energy *meter);
int energy_window_look(struct tutti_energy *meter, int window, struct tutti_energy_figure *out, int room);

#endif
