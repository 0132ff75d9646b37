/* tutti bench shmem: options and table. */
#ifndef TUTTI_TOOLS_BENCH_SHMEM_H
#define TUTTI_TOOLS_BENCH_SHMEM_H

#include "bench/words/gas.h"
#include "tools/bench/bench.h"

struct shmem_options {
    struct bench_options bench;
    unsigned figures, ways; /* masks */
    int usual;              /* 1: each figure has its own sizes */
};

enum { SHMEM_ROWS = 2048 };
struct shmem_row {
    int figure; /* enum gas_figure */
    char name[16], target[8];
    unsigned blocks, threads;
    int pes;
    size_t bytes;
    struct bench_time time[GAS_WAYS];
};
struct shmem_table {
    const struct shmem_options *options;
    struct bench_report report;
    struct shmem_row row[SHMEM_ROWS];
    int rows;
};
extern const char *const shmem_ways[GAS_WAYS], *const shmem_figures[GAS_FIGURES], *const shmem_texts[GAS_FIGURES];
extern const int shmem_rates[GAS_FIGURES]; /* enum gas_rate */
double shmem_rate(const struct shmem_row *row, int way);

void shmem_table_record(void *table, char *text);
int shmem_json_write(const void *table);
int shmem_plot_write(const void *written);

#endif
