/* What `tutti info` found, before it is written as text or as JSON. */
#ifndef TUTTI_TOOLS_INFO_H
#define TUTTI_TOOLS_INFO_H

#include "device/device.h"
#include "launcher.h"

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

struct info {
    struct tool_mpis mpis;
    struct info_front front[3];
    char *preload; /* libtutti.so, or NULL */
    struct info_device device[INFO_DEVICES];
    int devices;
    const char *wanted; /* TUTTI_DEVICE */
    const char *used;   /* name of the device, or "none" */
    const char *rules;  /* default rules of that device */
    char wrong[4096];   /* settings and rules that are not valid, a line each */
};

/* What makes an accelerated call impossible here, one line each; calls `say` for every one. */
void info_obstacles(const struct info *info, void (*say)(void *with, const char *line), void *with);
/* The front end that serves an MPI of these interfaces; NULL where none is built. */
const struct info_front *info_front_of(const struct info *info, int abi);

/* Writes it as JSON on standard output; refuses where this build has no JSON. */
void info_json(const struct info *info);

#endif
