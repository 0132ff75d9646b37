/* Joules of GPUs, processor packages and DRAM, read beside the time. NVML gives the GPUs, Linux's powercap the packages
 * and the DRAM. A source that this machine or this user lacks is there all the same, with the reason in words, and its
 * figures are NAN: unavailable is never 0.
 *
 *     struct tutti_energy *meter;
 *     tutti_energy_open(NULL, &meter);
 *     int window = tutti_energy_begin(meter);
 *     work();
 *     tutti_energy_end(meter, window, figures, room);
 *     tutti_energy_close(meter);
 *
 * A thread reads all sources every TUTTI_ENERGY_INTERVAL_MS milliseconds and sleeps in between. All calls are local,
 * are safe from any thread, and return 0 or a negative status, whose text tutti_status_text() gives. Link with
 * -ltutti-core. docs/energy.md says how long a window must be. */
#ifndef TUTTI_ENERGY_H
#define TUTTI_ENERGY_H

#include "tutti/tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tutti_energy;

enum tutti_energy_kind { TUTTI_ENERGY_GPU, TUTTI_ENERGY_PACKAGE, TUTTI_ENERGY_DRAM, TUTTI_ENERGY_KINDS };
/* What a counter counts: the source alone, or the module that a GPU shares with a processor. */
enum tutti_energy_scope { TUTTI_ENERGY_OWN, TUTTI_ENERGY_MODULE };

/* NULL and 0 stand for the settings TUTTI_ENERGY_... */
struct tutti_energy_options {
    int interval_ms;
    const char *gpus;     /* UUIDs as NVML writes them, with commas; "none": no GPU; NULL: the setting; "": all */
    const char *nvml;     /* NVML's library */
    const char *powercap; /* folder of the domains */
    const char *cpuinfo;  /* file that shows whether this is a virtual machine */
    int every_rank;       /* 1: this process reads on any rank. 0: of the ranks of a node the first alone does */
    int trace;            /* 1: samples are kept, for tutti_energy_sample() */
};

struct tutti_energy_source {
    int kind;         /* enum tutti_energy_kind */
    char name[48];    /* "gpu 0", "package-0", "dram-1" */
    char id[96];      /* UUID of a GPU, folder of a domain */
    char model[96];   /* of a GPU */
    char reason[256]; /* why it is unavailable; empty: it is available */
    int counter;      /* 1: it has an energy counter */
    int power;        /* 1: its power can be read */
};

/* A source over a window. What is not known is NAN. */
struct tutti_energy_figure {
    double seconds;
    double joules;     /* by the energy counter */
    double integral;   /* of the instantaneous power over time, by trapezoids; of the module where that is the scope */
    double difference; /* of the integral from the counter, in percent of the counter */
    double average_w;  /* last reading of the average power */
    double clock_mhz, memory_clock_mhz, celsius, cap_w; /* last readings */
    long updates;                                       /* how often the counter was seen with a new value */
    long samples;
    int scope;        /* enum tutti_energy_scope */
    char reason[256]; /* why joules is NAN; otherwise empty */
};

/* Starts reading. options may be NULL. tutti_energy_close() frees the meter; NULL: it does nothing. */
TUTTI_API int tutti_energy_open(const struct tutti_energy_options *options, struct tutti_energy **out);
TUTTI_API void tutti_energy_close(struct tutti_energy *meter);
/* Number of sources, the unavailable ones among them; and a description of source 0 to that number - 1. */
TUTTI_API int tutti_energy_sources(const struct tutti_energy *meter);
TUTTI_API int tutti_energy_source(const struct tutti_energy *meter, int source, struct tutti_energy_source *out);
/* Begins a window. Windows may overlap; 64 may be open. Returns its number, or a negative status. */
TUTTI_API int tutti_energy_begin(struct tutti_energy *meter);
/* Writes the figures of the first `room` sources, and leaves the window open. */
TUTTI_API int tutti_energy_look(struct tutti_energy *meter, int window, struct tutti_energy_figure *out, int room);
/* The same, and ends the window. */
TUTTI_API int tutti_energy_end(struct tutti_energy *meter, int window, struct tutti_energy_figure *out, int room);
/* Processes that compute on a GPU now: at most `room` numbers, as this machine counts processes (in a container they
 * may be others' than it sees). Returns how many there are; a negative status where the source cannot list them. */
TUTTI_API int tutti_energy_processes(struct tutti_energy *meter, int source, int *pids, int room);
/* Processor seconds of the thread that reads. */
TUTTI_API double tutti_energy_own_seconds(struct tutti_energy *meter);
/* Samples of a meter that keeps them: how many there are, and one: seconds since the meter was opened, and of each of
 * the first `room` sources the power in watts (of a source without power readings the counter's rise over the time
 * since the sample before) and the counter's rise since the start in joules. Either array may be NULL. */
TUTTI_API long tutti_energy_samples(struct tutti_energy *meter);
TUTTI_API int tutti_energy_sample(struct tutti_energy *meter, long sample, double *seconds, double *watts,
                                  double *joules, int room);

#ifdef __cplusplus
}
#endif
#endif
