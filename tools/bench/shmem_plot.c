/* The plot of tutti bench shmem: a field for each figure, a line for each series, which is a call, a target, a group or
 * a number of PEs, and a way. */
#include <string.h>

#include "tools/bench/shmem.h"

static int same_series(const struct bench_line *a, const struct bench_line *b)
{
    for (int i = SHMEM_FIGURE; i < SHMEM_BYTES; i++) {
        if (a->number[i] != b->number[i] || strcmp(a->text[i], b->text[i]) != 0)
            return 0;
    }
    return 1;
}

/* The line behind the series that begins with line `from`. */
static int series_end(const struct bench_sheet *t, int from)
{
    int end = from + 1;
    while (end < t->lines && same_series(&t->line[from], &t->line[end]))
        end++;
    return end;
}

/* What a figure shows in place of times; NULL: times. */
static const struct bench_shown *rate_of(const struct bench_line *line)
{
    const struct bench_shown *s = shmem_columns.shown;
    while (s->title && !bench_sheet_shows(&shmem_columns, s, line))
        s++;
    return s->title ? s : NULL;
}

/* A block of data for each series: bytes, then of every way what its figure shows. */
static void write_data(FILE *to, const void *table)
{
    const struct bench_sheet *t = table;
    for (int from = 0, end; from < t->lines; from = end) {
        const struct bench_line *first = &t->line[from];
        end = series_end(t, from);
        fprintf(to, "# %s %s %s, %lld blocks of %lld threads, %lld PEs: bytes", first->text[SHMEM_FIGURE],
                first->text[SHMEM_CALL], first->text[SHMEM_TO], first->number[SHMEM_BLOCKS],
                first->number[SHMEM_THREADS], first->number[SHMEM_PES]);
        for (int way = 0; way < GAS_WAYS; way++)
            fprintf(to, " %s", shmem_ways[way]);
        fputc('\n', to);
        for (int i = from; i < end; i++) {
            const struct bench_line *line = &t->line[i];
            const struct bench_shown *rate = rate_of(line);
            const long long bytes = line->number[SHMEM_BYTES];
            fprintf(to, "%lld", bytes ? bytes : 1); /* the axis is logarithmic */
            for (int way = 0; way < GAS_WAYS; way++) {
                if (line->time[way][0].known && rate)
                    fprintf(to, " %.6f", rate->of(t, line, way));
                else
                    bench_time_plot(to, line->time[way]);
            }
            fputc('\n', to);
        }
        fputs("\n\n", to);
    }
}

/* The title in the key: the values in which this series differs from the others. */
static void write_title(FILE *to, const struct bench_line *line, int way)
{
    const int figure = shmem_figure(line);
    fprintf(to, "%s", line->text[SHMEM_CALL]);
    if (figure == GAS_FIGURE_RMA)
        fprintf(to, " %s", line->text[SHMEM_TO]);
    else if (figure == GAS_FIGURE_GROUPS || figure == GAS_FIGURE_LATENCY || figure == GAS_FIGURE_BANDWIDTH ||
             figure == GAS_FIGURE_RING)
        fprintf(to, " %lldx%lld", line->number[SHMEM_BLOCKS], line->number[SHMEM_THREADS]);
    else if (figure == GAS_FIGURE_FCOLLECT || figure == GAS_FIGURE_BROADCAST)
        fprintf(to, " %lld PEs, %lld", line->number[SHMEM_PES], line->number[SHMEM_THREADS]);
    if (way != GAS_TUTTI)
        fprintf(to, ", %s", shmem_ways[way]);
}

static void write_figure(FILE *to, const struct bench_sheet *t, const struct bench_line *of)
{
    const enum gas_rate rate = shmem_rate(of);
    fprintf(to, "set title '%s' noenhanced\nset ylabel '%s'\nplot ", of->text[SHMEM_FIGURE],
            rate == GAS_RATE_BYTES      ? "GB/s"
            : rate == GAS_RATE_REQUESTS ? "millions of requests a second"
                                        : "median, us");
    int lines = 0, series = 0;
    for (int from = 0, end, index = 0; from < t->lines; from = end, index++) {
        end = series_end(t, from);
        if (strcmp(t->line[from].text[SHMEM_FIGURE], of->text[SHMEM_FIGURE]) != 0)
            continue;
        series++;
        for (int way = 0; way < GAS_WAYS; way++) {
            if (!t->line[from].time[way][0].known)
                continue;
            fprintf(to, "%s$data index %d using 1:%d with linespoints linetype %d dashtype %d title '",
                    lines++ ? ", " : "", index, way + 2, series, way + 1);
            write_title(to, &t->line[from], way);
            fputs("' noenhanced", to);
        }
    }
    fputc('\n', to);
}

static int begins_figure(const struct bench_sheet *t, int i)
{
    return i == 0 || strcmp(t->line[i].text[SHMEM_FIGURE], t->line[i - 1].text[SHMEM_FIGURE]) != 0;
}

static void write_script(FILE *to, const void *table)
{
    const struct bench_sheet *t = table;
    int fields = 0;
    for (int i = 0; i < t->lines; i++)
        fields += begins_figure(t, i);
    const int columns = fields > 1 ? 2 : 1, lines = (fields + columns - 1) / columns;
    fprintf(to, "set terminal pngcairo size %d,%d\nset output \"", 1000 * columns, 600 * lines);
    bench_plot_text(to, t->options->plot, 0);
    fputs("\"\n$data << END_OF_DATA\n", to);
    write_data(to, t);
    fprintf(to,
            "END_OF_DATA\nset datafile missing '-'\nset logscale x 2\nset logscale y 10\nset format x '%%.0b%%B'\n"
            "set xlabel 'bytes'\nset key outside right\nset grid\n"
            "set multiplot layout %d,%d title 'Global address space in kernels, %d PEs, %s device'\n",
            lines, columns, t->options->ranks, t->report.device);
    for (int i = 0; i < t->lines; i++) {
        if (begins_figure(t, i))
            write_figure(to, t, &t->line[i]);
    }
    fputs("unset multiplot\n", to);
}

int shmem_plot_write(const void *written)
{
    const struct bench_sheet *sheet = written;
    if (sheet->lines == 0)
        return 0;
    return bench_gnuplot(sheet->options->plot, write_script, write_data, sheet);
}
