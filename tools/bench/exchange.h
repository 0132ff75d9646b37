/* tutti bench halo and tutti bench pingpong: options and table. */
#ifndef TUTTI_TOOLS_BENCH_EXCHANGE_H
#define TUTTI_TOOLS_BENCH_EXCHANGE_H

#include "bench/words/exchange_way.h"
#include "tools/bench/bench.h"

struct exchange_options {
    struct bench_options bench; /* sizes: edges of the halo, bytes of the ping-pong */
    int halo;                   /* 1; 0: pingpong */
    int radius, quantities;
    size_t block, stride;
    unsigned ways;
};

enum { EXCHANGE_ROWS = BENCH_SIZES };
struct exchange_row {
    char name[64], how[64];
    char went[EXCHANGE_WAYS][40]; /* of the BY ways: "direct 36, staged 16" */
    size_t bytes;
    struct bench_time time[EXCHANGE_WAYS];
};
struct exchange_table {
    const struct exchange_options *options;
    struct bench_report report;
    struct exchange_row row[EXCHANGE_ROWS];
    int rows;
};
const char *exchange_way_title(int way);
void exchange_table_record(void *table, char *text);
int exchange_json_write(const void *table);
int exchange_plot_write(const void *table);

#endif
