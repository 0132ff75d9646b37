/* What a test asks of the pretended NVML, by the symbol fake_nvml. */
#ifndef TUTTI_TESTS_FAKE_NVML_H
#define TUTTI_TESTS_FAKE_NVML_H

#include <dlfcn.h>
#include <stddef.h>

enum { FAKE_GPUS = 3 };

struct fake_nvml {
    int init, count, counter_status[FAKE_GPUS], power_status[FAKE_GPUS],
        module; /* statuses of NVML; module: 1: it has readings */
    unsigned long long mj[FAKE_GPUS];
    unsigned mw[FAKE_GPUS], module_mw[FAKE_GPUS];
    int counter_reads, field_reads; /* counters and fields that were asked for */
};
extern struct fake_nvml fake_nvml;

/* That of the library, which the meter opens too; NULL if it cannot be opened. */
static inline struct fake_nvml *fake_nvml_of(const char *library)
{
    void *const opened = dlopen(library, RTLD_NOW);
    return opened ? dlsym(opened, "fake_nvml") : NULL;
}

#endif
