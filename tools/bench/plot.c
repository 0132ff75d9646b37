/* Plots by gnuplot; without gnuplot the data are written. Latencies are lines over sizes, pairs of type and operator
 * are boxes, phases are stacked. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/types.h"
#include "tools/bench/bench.h"

static void write_sizes(FILE *to, const struct bench_table *t)
{
    fputs("# bytes", to);
    for (int way = 0; way < BENCH_WAYS; way++) {
        if (t->way[way])
            fprintf(to, " %s", bench_way_title(way));
    }
    fputc('\n', to);
    for (int i = 0; i < t->rows; i++) {
        fprintf(to, "%zu", t->row[i].bytes);
        for (int way = 0; way < BENCH_WAYS; way++) {
            if (t->way[way])
                fprintf(to, " %.4f", t->row[i].time[way].median);
        }
        fputc('\n', to);
    }
}

static void write_pairs(FILE *to, const struct bench_table *t)
{
    fputs("# pair us float-sum-us\n", to);
    for (int i = 0; i < t->rows; i++) {
        const struct bench_row *row = &t->row[i];
        char size[24];
        fprintf(to, "\"%s of %s, %s\" %.4f %.4f\n", tutti_op_name(row->op), tutti_type_name(row->type),
                tool_size_text(row->bytes, size), row->time[BENCH_TUTTI].median, row->time[BENCH_REFERENCE].median);
    }
}

static void write_phases(FILE *to, const struct bench_table *t)
{
    struct bench_part parts[BENCH_PARTS];
    char size[24];
    for (int i = 0; i < t->rows; i++) {
        bench_row_parts(&t->row[i], parts);
        if (i == 0) {
            fputs("bytes", to);
            for (int p = 0; p < BENCH_PARTS; p++)
                fprintf(to, " %s", parts[p].name);
            fputc('\n', to);
        }
        fprintf(to, "%s", tool_size_text(t->row[i].bytes, size));
        for (int p = 0; p < BENCH_PARTS; p++)
            fprintf(to, " %.4f", parts[p].us > 0 ? parts[p].us : 0);
        fputc('\n', to);
    }
}

static void write_data(FILE *to, const struct bench_table *t)
{
    if (t->options->phases)
        write_phases(to, t);
    else if (t->options->pairs)
        write_pairs(to, t);
    else
        write_sizes(to, t);
}

void bench_plot_text(FILE *to, const char *text, int underscores)
{
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', to);
        else if (*c == '_' && underscores)
            fputs("\\\\", to);
        fputc(*c, to);
    }
}

static void plot_sizes(FILE *to, const struct bench_table *t)
{
    fputs("set logscale x 2\nset logscale y 10\nset format x '%.0b%B'\nset xlabel 'bytes'\nset ylabel 'median latency, "
          "us'\nset key left top\nset grid\nplot ",
          to);
    for (int way = 0, column = 2; way < BENCH_WAYS; way++) {
        if (!t->way[way])
            continue;
        fprintf(to, "%s$data using 1:%d with linespoints linewidth 2 title \"", column > 2 ? ", " : "", column);
        bench_plot_text(to, bench_way_title(way), 1);
        fputc('"', to);
        column++;
    }
    fputc('\n', to);
}

static void plot_pairs(FILE *to)
{
    fputs("set style data histograms\nset style fill solid 0.8\nset boxwidth 0.8\nset yrange [0:*]\nset ylabel 'median "
          "latency, us'\nset xtics rotate by -60 font ',8' noenhanced\nset grid y\nset key left top\n"
          "plot $data using 2:xtic(1) title 'the pair', $data using 3 title 'sum of float, as many bytes'\n",
          to);
}

static void plot_phases(FILE *to)
{
    fprintf(to,
            "set linetype 9 linecolor rgb '#8c564b'\nset linetype 10 linecolor rgb '#7f7f7f'\n"
            "set style data histograms\nset style histogram rowstacked\nset style fill solid 0.8\nset boxwidth 0.8\n"
            "set ylabel 'us'\nset xlabel 'bytes'\nset xtics rotate by -45\nset grid y\n"
            "set key outside right\nset multiplot layout 2,1\nset yrange [0:*]\n"
            "plot for [i=2:%d] $data using i:xtic(1) title columnheader(i)\n"
            "set ylabel 'parts of the call, %%'\nset yrange [0:100]\nunset title\n"
            "plot for [i=2:%d] $data using (100.0*column(i)/(sum [j=2:%d] column(j))):xtic(1) title columnheader(i)\n"
            "unset multiplot\n",
            BENCH_PARTS + 1, BENCH_PARTS + 1, BENCH_PARTS + 1);
}

static void write_script(FILE *to, const struct bench_table *t)
{
    const struct bench_options *o = t->options;
    int wide = o->pairs && t->rows > 20 ? 16 * t->rows + 300 : 900;
    char *what = bench_what(o);
    fprintf(to, "set terminal pngcairo size %d,%d\nset output \"", wide, o->phases ? 1000 : 600);
    bench_plot_text(to, o->plot, 0);
    fputs("\"\nset title \"", to);
    bench_plot_text(to, what, 1);
    free(what);
    fprintf(to, ", %d ranks, ", o->ranks);
    if (!o->pairs) {
        fprintf(to, "%s of ", tutti_op_name(o->op));
        bench_plot_text(to, tutti_type_name(o->type), 1);
        fputs(", ", to);
    }
    fprintf(to, "%s device\"\n$data << END_OF_DATA\n", t->report.device);
    write_data(to, t);
    fputs("END_OF_DATA\n", to);
    if (o->phases)
        plot_phases(to);
    else if (o->pairs)
        plot_pairs(to);
    else
        plot_sizes(to, t);
}

void bench_plot_check(const char *plot)
{
    const char *file = plot ? strrchr(plot, '/') : NULL, *dot = plot ? strrchr(file ? file : plot, '.') : NULL;
    if (plot && (!dot || strcasecmp(dot, ".png") != 0))
        tool_refuse("--plot %s: pictures are PNG alone: its name must end in .png", plot);
}

static int write_instead(const char *plot, void (*data)(FILE *to, const void *table), const void *table)
{
    char *path = tool_print("%s.dat", plot);
    FILE *to = fopen(path, "w");
    if (to)
        data(to, table);
    int failed = !to || fclose(to) != 0;
    fprintf(stderr, failed ? "tutti: %s cannot be written\n" : "tutti: gnuplot was not found: the data is in %s\n",
            path);
    free(path);
    return failed;
}

int bench_gnuplot(const char *plot, void (*script)(FILE *to, const void *table),
                  void (*data)(FILE *to, const void *table), const void *table)
{
    char path[PATH_MAX];
    if (!tool_program_find("gnuplot", path)) {
        unlink(plot); /* created when the command checked that it can be written */
        return write_instead(plot, data, table);
    }
    FILE *to = popen("gnuplot", "w");
    if (to)
        script(to, table);
    int status = to ? pclose(to) : -1;
    if (status == 0)
        return 0;
    fputs("tutti: gnuplot failed\n", stderr);
    write_instead(plot, data, table);
    return 1;
}

static void script_of(FILE *to, const void *table)
{
    write_script(to, table);
}

static void data_of(FILE *to, const void *table)
{
    write_data(to, table);
}

int bench_plot_write(const void *written)
{
    const struct bench_table *table = written;
    if (table->rows == 0)
        return 0;
    return bench_gnuplot(table->options->plot, script_of, data_of, table);
}
