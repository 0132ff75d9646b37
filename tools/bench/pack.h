/* tutti bench pack: its options and its table. */
#ifndef TUTTI_TOOLS_BENCH_PACK_H
#define TUTTI_TOOLS_BENCH_PACK_H

#include "bench/words/pack_way.h"
#include "tools/bench/bench.h"

struct pack_options {
    struct bench_options bench; /* of a single rank */
    int kind;                   /* enum pack_kind */
    size_t block, stride, cube;
    char *parts, *descriptions;
    unsigned ways;
};
/* "article" */
const char *pack_kind_name(int kind);

enum { PACK_TABLE_ROWS = 1024 };
struct pack_row {
    char layout[64], description[24], how[2][64]; /* how: "kernel"; "mpi: reason" */
    size_t bytes, blocks, touched;
    double commit, plain_commit, whole, plain_whole, first;
    long commits;
    struct bench_time time[PACK_WAYS][2]; /* pack, unpack */
};
struct pack_table {
    const struct pack_options *options;
    struct bench_report report;
    char layout[64]; /* of the rows that come */
    struct pack_row row[PACK_TABLE_ROWS];
    int rows, started;
    int extrapolated;     /* 1: some time is */
    double worst[2];      /* the widest spread so far: slowest by fastest description */
    char worst_at[2][64]; /* layout of that spread */
    int spread_from;      /* first row of the current layout */
};
const char *pack_way_title(int way);
void pack_table_record(void *table, char *text);
/* After the last record: lines about all rows. */
void pack_table_end(struct pack_table *table);
/* Ratio of the slowest to the fastest description of the layout that begins at row `from`; *next: the row behind it.
 * 0 if there is only one description. */
double pack_spread(const struct pack_table *table, int from, int unpack, int *next);
/* Write the requested files. 0, or 1 after an error message. */
int pack_json_write(const void *table);
int pack_plot_write(const void *written);

#endif
