/* tutti bench pack: its options, the columns of its two tables, its plot. */
#ifndef TUTTI_TOOLS_BENCH_PACK_H
#define TUTTI_TOOLS_BENCH_PACK_H

#include "bench/words/pack_way.h"
#include "tools/bench/sheet.h"

struct pack_options {
    struct bench_options bench; /* of a single rank */
    int kind;                   /* enum pack_kind */
    size_t block, stride, cube;
    char *parts, *descriptions;
    unsigned ways;
};
extern struct pack_options pack_options;
/* "article" */
const char *pack_kind_name(int kind);

/* Fields of a row of pack_columns. */
enum { PACK_AT_LAYOUT, PACK_AT_DESCRIPTION, PACK_AT_CALL, PACK_AT_BYTES, PACK_AT_BLOCKS, PACK_AT_SECTORS, PACK_AT_HOW };
/* Rows are the calls for a layout and description, and the times of MPI_Type_commit. */
extern const struct bench_columns pack_columns, commit_columns;
/* After the last record: lines about all rows. 1 if there is no row. */
int pack_end(void *table, int status);
int pack_plot_write(const void *table);

#endif
