/* Sources of energy: what is read, and what has been added up of it. */
#ifndef TUTTI_ENERGY_SOURCE_H
#define TUTTI_ENERGY_SOURCE_H

#include <stdint.h>

#include "tutti/energy.h"

enum { ENERGY_SOURCES = 64, ENERGY_WINDOWS = 64 };

/* One reading. Fields that have no value: has_... is 0, or NAN. */
struct energy_reading {
    int power_alone; /* written by the caller: 1: the counter is not read */
    int has_counter, has_power, has_module;
    int never_counter, never_power, never_module; /* 1: the device has none, now and later */
    uint64_t counter_uj;
    double watts, module_watts; /* instantaneous */
    double average_w, clock_mhz, memory_clock_mhz, celsius, cap_w;
    char reason[256]; /* why there is no counter */
};

/* Added up since the meter was opened; a window is the difference of two of these. */
struct energy_sums {
    uint64_t ns;
    double counter_j, power_j, module_j;
    long updates, samples, back; /* back: the counter has gone down and has no range to wrap at */
    int counter_known, power_known, module_known;
};

struct energy_source;
struct energy_ops {
    int dear; /* 1: a reading takes so long that the counter is not read with each sample of the thread */
    void (*read)(struct energy_source *source, struct energy_reading *out);
    void (*close)(struct energy_source *source);
    /* Numbers of the processes that use it, at most `room`; how many there are, or a negative status. NULL: not known.
     */
    int (*processes)(struct energy_source *source, int *pids, int room);
};

struct energy_source {
    struct tutti_energy_source about;
    const struct energy_ops *ops; /* NULL: unavailable */
    const void *library;          /* GPUs: what ops need */
    void *device;
    int file;          /* domains */
    uint64_t range_uj; /* the counter's largest value; 0: it does not wrap */
    struct energy_reading last;
    struct energy_sums sums;
    uint64_t counter_uj; /* the last one that could be read */
    int counted;         /* 1: there is one */
    /* When the counter was read last, and before its first change; its period, learned from the first changes (0: not
     * known yet), of which `changes` were seen. */
    uint64_t read_ns, first_ns, period_ns;
    int changes;
};

/* A list that is being filled. */
struct energy_sources {
    struct energy_source source[ENERGY_SOURCES];
    int n;
};
/* The next source; NULL if the list is full. */
struct energy_source *energy_source_add(struct energy_sources *sources, int kind, const char *name);
/* A source that is not there, with the reason. */
void energy_source_missing(struct energy_sources *sources, int kind, const char *name, const char *reason);
/* Reads the source and adds to its sums: the counter's rise, and a trapezoid of power since the reading before.
 * all: 1: the counter is read in any case; 0: a dear one, once its period is known, only every few periods, and the
 * updates between two readings that differ are those that fit between them. */
void energy_source_sample(struct energy_source *source, uint64_t now_ns, int all);
/* What has come between two states of the sums; source->last is as of the second. */
void energy_figure(const struct energy_source *source, const struct energy_sums *from, const struct energy_sums *to,
                   struct tutti_energy_figure *out);

/* GPUs through NVML. library: its path. gpus: as in tutti_energy_options. Returns what energy_gpus_close() takes. */
const void *energy_gpus_open(struct energy_sources *sources, const char *library, const char *gpus);
void energy_gpus_close(const void *opened);
/* Packages and DRAM through powercap. */
void energy_domains_open(struct energy_sources *sources, const char *folder, const char *cpuinfo);

#endif
