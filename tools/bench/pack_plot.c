/* Plots of tutti bench pack: over sizes, or over layouts. Among the descriptions of a layout, Tutti's slowest is
 * plotted, and the fastest of the other ways. */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/pack.h"

static int is_sized(void)
{
    return pack_options.kind == PACK_STRIDED;
}

/* The line behind the layout that begins with line `from`. */
static int layout_end(const struct bench_sheet *t, int from)
{
    const struct bench_line *first = &t->line[from];
    int end = from + 1;
    while (end < t->lines && strcmp(t->line[end].text[PACK_AT_LAYOUT], first->text[PACK_AT_LAYOUT]) == 0 &&
           t->line[end].number[PACK_AT_BYTES] == first->number[PACK_AT_BYTES])
        end++;
    return end;
}

static double time_of(const struct bench_sheet *t, int from, int next, int way, int unpack)
{
    double us = 0;
    for (int i = from; i < next; i++) {
        const struct bench_time *time = t->line[i].time[way];
        if (!time->known || (strcmp(t->line[i].text[PACK_AT_CALL], "unpack") == 0) != unpack)
            continue;
        if (us == 0 || (way == PACK_TUTTI ? time->median > us : time->median < us))
            us = time->median;
    }
    return us;
}

/* Columns: the layout, or bytes; then pack and unpack of every way. "-" is an unknown time. */
static void pack_write_data(FILE *to, const void *table)
{
    const struct bench_sheet *t = table;
    for (int i = 0, next; i < t->lines; i = next) {
        next = layout_end(t, i);
        if (is_sized())
            fprintf(to, "%lld", t->line[i].number[PACK_AT_BYTES]);
        else
            fprintf(to, "\"%s\"", t->line[i].text[PACK_AT_LAYOUT]);
        for (int column = 0; column < 2 * PACK_WAYS; column++) {
            const double us = time_of(t, i, next, column / 2, column % 2);
            const struct bench_time time = {.known = us > 0, .median = us};
            bench_time_plot(to, &time);
        }
        fputc('\n', to);
    }
}

static void commit_write_data(FILE *to, const void *table)
{
    const struct bench_sheet *t = table;
    for (int i = 0; i < t->lines; i++) {
        const struct bench_line *line = &t->line[i];
        fprintf(to, "\"%s, %s\"", line->text[PACK_AT_LAYOUT], line->text[PACK_AT_DESCRIPTION]);
        bench_time_plot(to, line->time[COMMIT_TUTTI]);
        bench_time_plot(to, line->time[COMMIT_PLAIN]);
        fputc('\n', to);
    }
}

static void write_head(FILE *to, const struct bench_sheet *t, const char *what)
{
    fprintf(to, "set terminal pngcairo size 1200,700\nset output \"");
    bench_plot_text(to, t->options->plot, 0);
    fprintf(to, "\"\nset title \"%s, layouts: %s, %s device\"\n", what, pack_kind_name(pack_options.kind),
            t->report.device);
    fputs("set datafile missing '-'\nset logscale y 10\nset ylabel 'median, us'\nset grid\nset key outside right\n"
          "$data << END_OF_DATA\n",
          to);
}

static void commit_write_script(FILE *to, const void *table)
{
    write_head(to, table, "MPI\\\\_Type\\\\_commit");
    commit_write_data(to, table);
    fputs("END_OF_DATA\nset style data histograms\nset style fill solid 0.8\n"
          "set xtics right rotate by 60 font ',8' noenhanced\n"
          "plot $data using 2:xtic(1) title 'tutti', $data using 3 title 'plain'\n",
          to);
}

static void pack_write_script(FILE *to, const void *table)
{
    const struct bench_sheet *t = table;
    write_head(to, t, "MPI\\\\_Pack, dashed: MPI\\\\_Unpack");
    pack_write_data(to, t);
    fputs("END_OF_DATA\n", to);
    fputs(is_sized() ? "set logscale x 2\nset format x '%.0b%B'\nset xlabel 'bytes'\n"
                     : "set xtics rotate by -60 font ',8' noenhanced\nset offsets 0.5, 0.5, 0, 0\n",
          to);
    fputs("plot ", to);
    for (int column = 0, lines = 0; column < 2 * PACK_WAYS; column++) {
        const int way = column / 2, unpack = column % 2;
        if (!t->has[way] || (unpack && way == PACK_LIMIT))
            continue;
        fprintf(to, "%s$data using %s:%d%s with linespoints linewidth 2 linetype %d%s title '%s'", lines++ ? ", " : "",
                is_sized() ? "1" : "0", column + 2, is_sized() ? "" : ":xtic(1)", way + 1, unpack ? " dashtype 2" : "",
                unpack ? "" : t->columns->ways[way]);
    }
    fputc('\n', to);
}

int pack_plot_write(const void *table)
{
    const struct bench_sheet *t = table;
    if (t->lines == 0)
        return 0;
    if (pack_options.kind == PACK_COMMIT)
        return bench_gnuplot(t->options->plot, commit_write_script, commit_write_data, t);
    return bench_gnuplot(t->options->plot, pack_write_script, pack_write_data, t);
}
