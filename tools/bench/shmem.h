/* tutti bench shmem: its columns and its plot. */
#ifndef TUTTI_TOOLS_BENCH_SHMEM_H
#define TUTTI_TOOLS_BENCH_SHMEM_H

#include "bench/words/gas.h"
#include "tools/bench/sheet.h"

/* Fields of a row. */
enum { SHMEM_FIGURE, SHMEM_CALL, SHMEM_TO, SHMEM_BLOCKS, SHMEM_THREADS, SHMEM_PES, SHMEM_BYTES };
extern const struct bench_columns shmem_columns;
extern const char *const shmem_ways[GAS_WAYS], *const shmem_figures[GAS_FIGURES], *const shmem_texts[GAS_FIGURES];
/* enum gas_figure */
int shmem_figure(const struct bench_line *line);
enum gas_rate shmem_rate(const struct bench_line *line);

/* Of bench_shmem: one figure (enum gas_figure) by some ways (a mask), in place of those of the options. */
void shmem_take_figure(int figure, unsigned ways);
int shmem_plot_write(const void *written);

#endif
