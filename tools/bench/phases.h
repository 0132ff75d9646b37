/* The table of --phases: the parts of the time of a blocking reduction. */
#ifndef TUTTI_TOOLS_BENCH_PHASES_H
#define TUTTI_TOOLS_BENCH_PHASES_H

#include "core/phases.h"
#include "tools/bench/bench.h"

enum { PHASES_ROWS = BENCH_SIZES };
struct phases_row {
    size_t bytes, count;
    long iterations;
    char algorithm[96];
    double whole, ordered; /* the blocking call; the call in stream order, negative if it cannot be made */
    double phase[TUTTI_PHASES];
};
struct phases_table {
    const struct bench_options *options;
    struct bench_report report;
    const char *members;                                             /* as of struct bench_columns */
    const char *(*choice)(int i, const char **text);                 /* likewise */
    void (*refuse)(struct bench_report *report, const char *record); /* the algorithm asked for does not do the call */
    struct phases_row row[PHASES_ROWS];
    int rows;
};
void bench_phases_record(void *table, char *text);
int bench_phases_json(const void *table);
int bench_phases_plot(const void *table);

#endif
