/* Plots of tutti bench pack: over sizes, or over layouts. Among the descriptions of a layout, Tutti's slowest is
 * plotted, and the fastest of the other ways. */
#include <stdlib.h>

#include "tools/bench/pack.h"

static int sized(const struct pack_table *t)
{
    return t->options->kind == PACK_STRIDED;
}

static double time_of(const struct pack_table *t, int from, int next, int way, int unpack)
{
    double us = 0;
    for (int i = from; i < next; i++) {
        const struct bench_time *time = &t->row[i].time[way][unpack];
        if (time->known && (us == 0 || (way == PACK_TUTTI ? time->median > us : time->median < us)))
            us = time->median;
    }
    return us;
}

/* Columns: the layout, or bytes; then pack and unpack of every way. "-" is an unknown time. */
static void write_data(FILE *to, const struct pack_table *t)
{
    if (t->options->kind == PACK_COMMIT) {
        for (int i = 0; i < t->rows; i++)
            fprintf(to, "\"%s, %s\" %.4f %.4f\n", t->row[i].layout, t->row[i].description, t->row[i].commit,
                    t->row[i].plain_commit);
        return;
    }
    for (int i = 0, next; i < t->rows; i = next) {
        pack_spread(t, i, 0, &next);
        if (sized(t))
            fprintf(to, "%zu", t->row[i].bytes);
        else
            fprintf(to, "\"%s\"", t->row[i].layout);
        for (int way = 0; way < PACK_WAYS; way++) {
            for (int unpack = 0; unpack < 2; unpack++) {
                double us = time_of(t, i, next, way, unpack);
                if (us > 0)
                    fprintf(to, " %.4f", us);
                else
                    fputs(" -", to);
            }
        }
        fputc('\n', to);
    }
}

static int known(const struct pack_table *t, int way)
{
    for (int i = 0; i < t->rows; i++) {
        if (t->row[i].time[way][0].known)
            return 1;
    }
    return 0;
}

static void write_script(FILE *to, const struct pack_table *t)
{
    const int commit = t->options->kind == PACK_COMMIT;
    fprintf(to, "set terminal pngcairo size 1200,700\nset output \"");
    bench_plot_text(to, t->options->bench.plot, 0);
    fprintf(to, "\"\nset title \"%s, layouts: %s, %s device\"\n",
            commit ? "MPI\\\\_Type\\\\_commit" : "MPI\\\\_Pack, dashed: MPI\\\\_Unpack",
            pack_kind_name(t->options->kind), t->report.device);
    fputs("set datafile missing '-'\nset logscale y 10\nset ylabel 'median, us'\nset grid\nset key outside right\n"
          "$data << END_OF_DATA\n",
          to);
    write_data(to, t);
    fputs("END_OF_DATA\n", to);
    if (!sized(t))
        fputs("set xtics rotate by -60 font ',8' noenhanced\n", to);
    if (commit) {
        fputs("set style data histograms\nset style fill solid 0.8\nset xtics right rotate by 60\n"
              "plot $data using 2:xtic(1) title 'tutti', $data using 3 title 'plain'\n",
              to);
        return;
    }
    if (sized(t))
        fputs("set logscale x 2\nset format x '%.0b%B'\nset xlabel 'bytes'\n", to);
    else
        fprintf(to, "set offsets 0.5, 0.5, 0, 0\n");
    fputs("plot ", to);
    for (int way = 0, lines = 0; way < PACK_WAYS; way++) {
        for (int unpack = 0; unpack < 2 && known(t, way); unpack++) {
            if (unpack && way == PACK_LIMIT)
                continue;
            char using[48];
            if (sized(t))
                snprintf(using, sizeof using, "1:%d", 2 * way + unpack + 2);
            else
                snprintf(using, sizeof using, "0:%d:xtic(1)", 2 * way + unpack + 2);
            fprintf(to, "%s$data using %s with linespoints linewidth 2 linetype %d%s title '%s'", lines++ ? ", " : "",
                    using, way + 1, unpack ? " dashtype 2" : "", unpack ? "" : pack_way_title(way));
        }
    }
    fputc('\n', to);
}

static void write_plot(FILE *to, const void *table)
{
    write_script(to, table);
}

static void write_plot_data(FILE *to, const void *table)
{
    write_data(to, table);
}

int pack_plot_write(const void *written)
{
    const struct pack_table *table = written;
    if (table->rows == 0)
        return 0;
    return bench_gnuplot(table->options->bench.plot, write_plot, write_plot_data, table);
}
