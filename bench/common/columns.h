/* Columns: what is timed in turns, A B C A B C ..., so that what drifts on the machine meets all alike. A call is timed
 * by itself; the last ones of each column get new data and are checked. */
#ifndef TUTTI_BENCH_COLUMNS_H
#define TUTTI_BENCH_COLUMNS_H

#include "bench/common/bench.h"

enum { BENCH_TURNS = 4 };

struct bench_column {
    const char *name; /* as the progress line has it; NULL: the column is not there */
    long iterations, warm_up, checked;
    double scale;    /* samples are so many times what a call took */
    double *samples; /* microseconds, one a call */
};

/* How the calls of columns are made. */
struct bench_timed {
    const char *what; /* for the progress line */
    size_t bytes;
    void *with;
    /* Before every call, not timed. new_data: the call's result will be checked. */
    void (*prepare)(void *with, int column, long i, int new_data);
    /* Microseconds. i: the call's number; negative while warming up. */
    double (*call)(void *with, int column, long i);
    /* Collective. 1 where the result is right, otherwise 0 (said). */
    int (*check)(void *with, int column, long i);
};

/* How many calls there are, by size and by the plan's limit of time; the same on all ranks. `checked`: of the last. */
void bench_column_plan(const struct bench_plan *plan, const struct bench_timed *timed, struct bench_column *column,
                       int number, long checked);
/* Collective. 1 where all checked results were right. */
int bench_columns_run(const struct bench_plan *plan, const struct bench_timed *timed, struct bench_column columns[],
                      int n);
void bench_columns_free(struct bench_column columns[], int n);

/* Sorts, and returns the value in the middle. */
double bench_median(double *values, long n);

/* Records of the ranks that all benchmarks have. */
struct bench_figures {
    double average, median, least, most;
    long iterations;
    int extrapolated;
};
/* part: what of the way was timed; unpacking is part 1 of packing. */
void bench_say_time(const struct bench_plan *plan, const char *way, int part, const struct bench_figures *figures);
/* Collective: of each call the time of the rank that takes longest. */
void bench_say_longest(const struct bench_plan *plan, const struct bench_column *column);
/* Collective. Average, least and most are those of the ranks' averages, as the OSU benchmarks have them; the median is
 * that over calls, of the average over ranks. */
void bench_say_average(const struct bench_plan *plan, const struct bench_column *column, int part);
void bench_say_progress(const struct bench_plan *plan, const char *way, const char *what, int part, int parts);
/* Of n times; sorts them. */
struct bench_figures bench_figures_of(double *times, long n);

#endif
