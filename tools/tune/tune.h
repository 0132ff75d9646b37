/* tutti tune: shared by its parts. The ranks (bench/tune/) measure and choose; the command shows and writes the
 * results. */
#ifndef TUTTI_TOOLS_TUNE_H
#define TUTTI_TOOLS_TUNE_H

#include "bench/words/tune.h"
#include "tools/bench/bench.h"

enum { TUNE_ROWS = 512, TUNE_TIMES = 4096 };
extern const char *const tune_sections[TUNE_SECTIONS], *const tune_verdicts[TUNE_VERDICTS];

struct tune_options {
    struct bench_options start; /* how ranks are started: ranks, mpi, arguments, timeout, order; json */
    unsigned sections;          /* mask */
    double seconds;
    int rounds; /* of each size, however long they take; 0: as the seconds allow */
    size_t most;
    const char *folder; /* of the file whose accesses are measured */
    const char *output; /* NULL: the file that the library reads */
    int dry_run;
};

/* A size, tuned rules beside the defaults. */
struct tune_row {
    int section;
    size_t bytes;
    char standard[32], tuned[32];
    int verdict; /* enum tune_verdict */
    double standard_us, tuned_us, ratio;
};
struct tune_time {
    int section;
    size_t bytes;
    char algorithm[32];
    double us;
};

struct tune_run {
    const struct tune_options *options;
    const struct bench_place *place;
    char path[4096];                       /* of the rules file */
    char mpi[256], device[32], entry[256]; /* entry: the device's name, as rules files have it */
    size_t most;
    char rules[TUNE_SECTIONS][4200]; /* "allreduce: 0-8k@ll ...", of those that were measured; otherwise empty */
    struct tune_row row[TUNE_ROWS];
    struct tune_time time[TUNE_TIMES];
    int rows, times;
    char note[256]; /* what was left out, and why */
    char doing[32]; /* what was shown last */
    int progress, ended, right;
    double interrupted, took; /* seconds; interrupted: 0 if it was not */
};

/* Takes a record of the ranks. */
void tune_record(void *with, char *text); /* with: struct tune_run */
void tune_table(struct tune_run *run);
/* First Ctrl-C. */
void tune_interrupt(void);

/* Path of the file; refuses, before anything starts, one that cannot be written or that holds something else. */
void tune_file_check(struct tune_run *run);
/* The entry of this device as the file will have it, with what it held of collectives that were not measured. Freed by
 * the caller. */
char *tune_file_entry(const struct tune_run *run);
/* Writes the file, with the entries of other devices as they are, in one step. 0, or 1 if it failed (said). */
int tune_file_write(const struct tune_run *run, const char *entry);

/* Refuses JSON in a build without it, and a file that cannot be written. */
void tune_json_check(const struct tune_options *options);
/* 0, or 1 if it failed (said). */
int tune_json_write(const struct tune_run *run);

#endif
