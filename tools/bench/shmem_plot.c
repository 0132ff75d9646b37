/* The plot of tutti bench shmem: a field for each figure, a line for each series, which is a call, a target, a group or
 * a number of PEs, and a way. */
#include <string.h>

#include "tools/bench/shmem.h"

static int same_series(const struct shmem_row *a, const struct shmem_row *b)
{
    return a->figure == b->figure && strcmp(a->name, b->name) == 0 && strcmp(a->target, b->target) == 0 &&
           a->blocks == b->blocks && a->threads == b->threads && a->pes == b->pes;
}

/* The row behind the series that begins with row `from`. */
static int series_end(const struct shmem_table *t, int from)
{
    int end = from + 1;
    while (end < t->rows && same_series(&t->row[from], &t->row[end]))
        end++;
    return end;
}

/* A block of data for each series: bytes, then of every way what its figure shows. */
static void write_data(FILE *to, const void *table)
{
    const struct shmem_table *t = table;
    for (int from = 0, end; from < t->rows; from = end) {
        end = series_end(t, from);
        fprintf(to, "# %s %s %s, %u blocks of %u threads, %d PEs: bytes", shmem_figures[t->row[from].figure],
                t->row[from].name, t->row[from].target, t->row[from].blocks, t->row[from].threads, t->row[from].pes);
        for (int way = 0; way < GAS_WAYS; way++)
            fprintf(to, " %s", shmem_ways[way]);
        fputc('\n', to);
        for (int i = from; i < end; i++) {
            fprintf(to, "%zu", t->row[i].bytes ? t->row[i].bytes : 1); /* the axis is logarithmic */
            for (int way = 0; way < GAS_WAYS; way++) {
                if (t->row[i].time[way].known && shmem_rates[t->row[i].figure])
                    fprintf(to, " %.6f", shmem_rate(&t->row[i], way));
                else
                    bench_time_plot(to, &t->row[i].time[way]);
            }
            fputc('\n', to);
        }
        fputs("\n\n", to);
    }
}

/* The title in the key: the values in which this series differs from the others. */
static void write_title(FILE *to, const struct shmem_row *row, int way)
{
    fprintf(to, "%s", row->name);
    if (row->figure == GAS_FIGURE_RMA)
        fprintf(to, " %s", row->target);
    else if (row->figure == GAS_FIGURE_GROUPS || row->figure == GAS_FIGURE_LATENCY ||
             row->figure == GAS_FIGURE_BANDWIDTH || row->figure == GAS_FIGURE_RING)
        fprintf(to, " %ux%u", row->blocks, row->threads);
    else if (row->figure == GAS_FIGURE_FCOLLECT || row->figure == GAS_FIGURE_BROADCAST)
        fprintf(to, " %d PEs, %u", row->pes, row->threads);
    if (way != GAS_TUTTI)
        fprintf(to, ", %s", shmem_ways[way]);
}

static void write_figure(FILE *to, const struct shmem_table *t, int figure)
{
    fprintf(to, "set title '%s' noenhanced\nset ylabel '%s'\nplot ", shmem_figures[figure],
            shmem_rates[figure] == GAS_RATE_BYTES      ? "GB/s"
            : shmem_rates[figure] == GAS_RATE_REQUESTS ? "millions of requests a second"
                                                       : "median, us");
    int lines = 0, series = 0;
    for (int from = 0, end, index = 0; from < t->rows; from = end, index++) {
        end = series_end(t, from);
        if (t->row[from].figure != figure)
            continue;
        series++;
        for (int way = 0; way < GAS_WAYS; way++) {
            if (!t->row[from].time[way].known)
                continue;
            fprintf(to, "%s$data index %d using 1:%d with linespoints linetype %d dashtype %d title '",
                    lines++ ? ", " : "", index, way + 2, series, way + 1);
            write_title(to, &t->row[from], way);
            fputs("' noenhanced", to);
        }
    }
    fputc('\n', to);
}

static void write_script(FILE *to, const void *table)
{
    const struct shmem_table *t = table;
    int fields = 0;
    for (int i = 0; i < t->rows; i++)
        fields += i == 0 || t->row[i].figure != t->row[i - 1].figure;
    const int columns = fields > 1 ? 2 : 1, lines = (fields + columns - 1) / columns;
    fprintf(to, "set terminal pngcairo size %d,%d\nset output \"", 1000 * columns, 600 * lines);
    bench_plot_text(to, t->options->bench.plot, 0);
    fputs("\"\n$data << END_OF_DATA\n", to);
    write_data(to, t);
    fprintf(to,
            "END_OF_DATA\nset datafile missing '-'\nset logscale x 2\nset logscale y 10\nset format x '%%.0b%%B'\n"
            "set xlabel 'bytes'\nset key outside right\nset grid\n"
            "set multiplot layout %d,%d title 'Global address space in kernels, %d PEs, %s device'\n",
            lines, columns, t->options->bench.ranks, t->report.device);
    for (int i = 0; i < t->rows; i++) {
        if (i == 0 || t->row[i].figure != t->row[i - 1].figure)
            write_figure(to, t, t->row[i].figure);
    }
    fputs("unset multiplot\n", to);
}

int shmem_plot_write(const void *written)
{
    const struct shmem_table *table = written;
    if (table->rows == 0)
        return 0;
    return bench_gnuplot(table->options->bench.plot, write_script, write_data, table);
}
