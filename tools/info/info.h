/* The results of `tutti info`, before they are written as text or as JSON. */
#ifndef TUTTI_TOOLS_INFO_H
#define TUTTI_TOOLS_INFO_H

#include "coll/coll.h"
#include "device/device.h"
#include "tools/start/launcher.h"

enum { INFO_GPUS = 64, INFO_DEVICES = 8 };

struct info_gpu {
    char text[256];
    char uuid[40];                  /* "a1b2...", hexadecimal */
    signed char reaches[INFO_GPUS]; /* 1: kernels here load and store that GPU's memory, 0 not, -1 not known */
};

struct info_device {
    const char *name, *text;
    int built, chosen;
    int status;    /* of opening it */
    char why[512]; /* where it could not be opened */
    int gpus;
    struct info_gpu gpu[INFO_GPUS];
};

struct info_front {
    int abi;
    char *path; /* NULL: left out of this build */
};

/* Rules that were measured, in a file. */
struct info_rules {
    char path[4096], entry[256]; /* entry: the device's name in it */
    char why[512];               /* no rules: the reason */
    char rules[TUTTI_RULES_BYTES];
};

struct info {
    struct tool_mpis mpis;
    struct info_front front[3];
    char *preload; /* libtutti.so, or NULL */
    struct info_device device[INFO_DEVICES];
    int devices;
    const char *wanted; /* TUTTI_DEVICE */
    const char *used;   /* name of the device, or "none" */
    int simulates;      /* 1: that device simulates a GPU */
    const char *rules;  /* default rules of that device */
    struct info_rules measured;
    char wrong[4096]; /* settings and rules that are not valid, a line each */
};

/* The reasons for which no call can be accelerated here; calls `say` with a line for each. */
void info_obstacles(const struct info *info, void (*say)(void *with, const char *line), void *with);
/* The front end that serves an MPI of these interfaces; NULL if none is built. */
const struct info_front *info_front_of(const struct info *info, int abi);

/* An error in the file goes to info->wrong. */
void info_rules_read(struct info *info);
/* Each writes one view on standard output. */
void info_screen_print(const struct info *info);
void info_machine_print(const struct info *info);
void info_settings_print(const struct info *info);
void info_rules_print(const struct info *info);
/* Writes JSON on standard output; refuses in a build without it. */
void info_json(const struct info *info);

#endif
