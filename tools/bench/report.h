/* Shared by the tables of all benchmarks: records about the ranks and their end, times, the progress line, and the
 * parts of JSON files made of them. */
#ifndef TUTTI_TOOLS_BENCH_REPORT_H
#define TUTTI_TOOLS_BENCH_REPORT_H

#include <stdio.h>

struct bench_place;

struct bench_report {
    const struct bench_place *place;
    char mpi[256], device[32], gpu[256];
    char notes[1024]; /* lines of comments */
    char wrong[512];  /* the first result that was wrong; otherwise empty */
    int refused;      /* the ranks cannot do what was asked for; reported */
    int nodes, gpus;
    int open;         /* the last row of the table is not complete */
    int ended, right; /* the final record has arrived; whether all results were right */
    int progress;     /* 1: a progress line is shown, which needs a terminal */
};

/* A record is a word and its text. Handles the records that all benchmarks have and returns NULL; otherwise cuts
 * `text` behind the word and returns the rest. */
char *bench_report_take(struct bench_report *report, char *text);
/* The line about the environment of the table: MPI, nodes, GPU. */
void bench_report_print_place(const struct bench_report *report);
/* Removes the progress line; called before any other output. */
void bench_report_clear(struct bench_report *report);
/* The exit status of the command; `status` is the launcher's; `failed`: a file could not be written. */
int bench_report_status(const struct bench_report *report, int status, int failed);

struct bench_time {
    int known, extrapolated;
    double average, median, least, most;
    long iterations;
};
/* "way direction average median least most iterations extrapolated": the way's place in `ways`, or -1. */
int bench_time_read(const char *text, const char *const ways[], int n, int *direction, struct bench_time *out);
/* A time divided by `own`; 0 if one of the two is not known. */
double bench_time_ratio(const struct bench_time *time, const struct bench_time *own);
/* Two columns: the median and the ratio, or "-"; and their titles. */
void bench_time_print(const struct bench_time *time, const struct bench_time *own);
void bench_time_print_title(const char *way);
/* For gnuplot: the median, or "-". */
void bench_time_plot(FILE *to, const struct bench_time *time);

#endif
