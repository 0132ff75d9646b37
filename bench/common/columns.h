/* Columns: ways that are timed in turns, A B C A B C ..., so that drift of the machine affects all alike. A call is
 * timed by itself; the last calls of each column get new data and are checked. */
#ifndef TUTTI_BENCH_COLUMNS_H
#define TUTTI_BENCH_COLUMNS_H

#include "bench/common/bench.h"

enum { BENCH_TURNS = 4 };

struct bench_column {
    const char *name; /* name in the progress line; NULL: the column is missing */
    long iterations, warm_up, checked;
    double scale;    /* samples divided by this give the time of a call */
    double *samples; /* microseconds, one a call */
};

/* Functions that make the calls of columns. */
struct bench_timed {
    const char *what; /* for the progress line */
    size_t bytes;
    void *with;
    /* Before every call, not timed. new_data: the call's result will be checked. */
    void (*prepare)(void *with, int column, long i, int new_data);
    /* Microseconds. i: the call's number; negative while warming up. */
    double (*call)(void *with, int column, long i);
    /* Collective. 1 if the result is right, otherwise 0 after a report. */
    int (*check)(void *with, int column, long i);
};

/* The number of calls, by size and by the plan's limit of time; the same on all ranks. `checked`: the last ones. */
void bench_column_plan(const struct bench_plan *plan, const struct bench_timed *timed, struct bench_column *column,
                       int number, long checked);
/* Collective. 1 if all checked results were right. */
int bench_columns_run(const struct bench_plan *plan, const struct bench_timed *timed, struct bench_column columns[],
                      int n);
void bench_columns_free(struct bench_column columns[], int n);

/* Sorts, and returns the median. */
double bench_median(double *values, long n);

/* Records of the ranks that all benchmarks have. */
struct bench_figures {
    double average, median, least, most;
    long iterations;
    int extrapolated;
};
/* part: the part of the way that was timed; unpacking is part 1 of packing. */
void bench_say_time(const struct bench_plan *plan, const char *way, int part, const struct bench_figures *figures);
/* Collective: of each call the time of the rank that takes longest. part: as in bench_say_time(). */
void bench_say_longest(const struct bench_plan *plan, const struct bench_column *column, int part);
/* Collective. Average, least and most are taken over the ranks' averages, as in the OSU benchmarks; the median over
 * calls, of the average over ranks. */
void bench_say_average(const struct bench_plan *plan, const struct bench_column *column, int part);
/* Collective. The same average and median; least and most are those of one call of one rank, which an average hides. */
void bench_say_calls(const struct bench_plan *plan, const struct bench_column *column, int part);
void bench_say_progress(const struct bench_plan *plan, const char *way, const char *what, int part, int parts);
/* Of n times; sorts them. */
struct bench_figures bench_figures_of(double *times, long n);

#endif
