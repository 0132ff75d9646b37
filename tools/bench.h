/* tutti bench: what its parts share. The ranks are programs of their own (bench/ in the sources), which measure and say
 * so line by line; everything that is shown or written is made here. */
#ifndef TUTTI_TOOLS_BENCH_H
#define TUTTI_TOOLS_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "start.h"

struct bench_options {
    const char *mpi, *arguments, *algorithm, *json, *plot;
    int ranks;
    size_t least, most;       /* bytes */
    long iterations, warm_up; /* 0 and -1: by size */
    int type, op, in_place, check;
    int pairs;    /* overhead */
    double limit; /* overhead: percent; negative: none */
    int timeout;  /* seconds without a word from the ranks */
    uint64_t seed;
};

/* Each parses, and refuses what is not valid, before anything starts. */
void bench_allreduce_options(int argc, char **argv, struct bench_options *out);
void bench_overhead_options(int argc, char **argv, struct bench_options *out);

/* The MPI of the bench and its program of ranks. */
struct bench_place {
    struct tool_mpis mpis;
    const struct tool_mpi *mpi;
    struct tool_program program;
};
void bench_place_find(const struct bench_options *options, struct bench_place *out);

/* Starts the ranks with `arguments` and hands each record to `record` ("row 8 2 1000 oneshot"), other lines to standard
 * output. Returns the launcher's exit status, or 1 where it said nothing for options->timeout seconds and was ended. */
int bench_start(const struct bench_options *options, const struct bench_place *place, char **arguments, int preload,
                void (*record)(void *with, char *text), void *with);

enum { BENCH_TABLE_WAYS = 5, BENCH_TABLE_ROWS = 64 };
struct bench_time {
    int known;
    double average, median, least, most;
};
struct bench_row {
    size_t bytes, count;
    long iterations;
    char algorithm[96];
    struct bench_time time[BENCH_TABLE_WAYS];
};
struct bench_table {
    const struct bench_options *options;
    const struct bench_place *place;
    char mpi[256], device[32], gpu[256], nccl[32], staging[32], notes[512], wrong[512];
    int nodes, gpus;
    int way[BENCH_TABLE_WAYS]; /* 1: measured */
    struct bench_row row[BENCH_TABLE_ROWS];
    int rows;
    int open, ended, right; /* open: the last row is still being filled */
    int progress;           /* 1: a progress line is shown */
};
const char *bench_way_title(int way);
/* Takes a record of the ranks; prints what is complete. */
void bench_table_record(void *table, char *text);

/* Refuses, before anything starts, a file that cannot be written, and JSON where this build has none. */
void bench_files_check(const struct bench_options *options);
/* Writes the files that were asked for. 0, or 1 where it failed (said). */
int bench_json_write(const struct bench_table *table);
int bench_json_overhead(const struct bench_options *options, const struct bench_place *place, const double *without,
                        const double *with, int pairs, double ratio);
int bench_plot_write(const struct bench_table *table);

#endif
