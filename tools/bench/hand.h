/* tutti bench never-slower: options and table. */
#ifndef TUTTI_TOOLS_BENCH_HAND_H
#define TUTTI_TOOLS_BENCH_HAND_H

#include "bench/words/hand.h"
#include "tools/bench/bench.h"

struct hand_options {
    struct bench_options bench;
    unsigned long long calls; /* mask of enum hand_call_id */
    double tolerance;         /* percent by which a call may take longer than by hand */
    int fails;                /* 1: exit status 1 where one takes longer */
};

enum { HAND_ROWS = HAND_CALLS * BENCH_SIZES };
struct hand_row {
    char name[40], how[112];
    size_t bytes;
    struct bench_time time[HAND_WAYS];
};
struct hand_table {
    const struct hand_options *options;
    struct bench_report report;
    char staging[32];
    struct hand_row row[HAND_ROWS];
    int rows;
};
void hand_table_record(void *table, char *text);
/* After the last row: which rows are behind. Returns their number. */
int hand_table_end(const struct hand_table *table);
/* 1 where the call takes longer than by hand, beyond the tolerance. */
int hand_row_is_behind(const struct hand_table *table, const struct hand_row *row);
int hand_json_write(const void *table);

#endif
