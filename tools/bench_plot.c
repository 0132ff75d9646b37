/* Plots by gnuplot; where that is not installed the data is written instead. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "core/types.h"

static void write_data(FILE *to, const struct bench_table *t)
{
    fputs("# bytes", to);
    for (int way = 0; way < BENCH_TABLE_WAYS; way++) {
        if (t->way[way])
            fprintf(to, " %s", bench_way_title(way));
    }
    fputc('\n', to);
    for (int i = 0; i < t->rows; i++) {
        fprintf(to, "%zu", t->row[i].bytes);
        for (int way = 0; way < BENCH_TABLE_WAYS; way++) {
            if (t->way[way])
                fprintf(to, " %.4f", t->row[i].time[way].median);
        }
        fputc('\n', to);
    }
}

static void write_script(FILE *to, const struct bench_table *t)
{
    const struct bench_options *o = t->options;
    fprintf(to, "set terminal pngcairo size 900,600\nset output \"");
    for (const char *c = o->plot; *c; c++)
        fprintf(to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fprintf(to, "\"\nset title \"MPI\\\\_Allreduce, %d ranks, %s of %s, %s device\"\n", o->ranks, tutti_op_name(o->op),
            tutti_type_name(o->type), t->device);
    fputs("set logscale x 2\nset logscale y 10\nset format x '%b%B'\nset xlabel 'bytes'\nset ylabel 'median latency, "
          "us'\n"
          "set key left top\nset grid\n$data << END_OF_DATA\n",
          to);
    write_data(to, t);
    fputs("END_OF_DATA\nplot ", to);
    for (int way = 0, column = 2; way < BENCH_TABLE_WAYS; way++) {
        if (!t->way[way])
            continue;
        fprintf(to, "%s$data using 1:%d with linespoints linewidth 2 title '%s'", column > 2 ? ", " : "", column,
                bench_way_title(way));
        column++;
    }
    fputc('\n', to);
}

static int write_instead(const struct bench_table *t)
{
    char *path = tool_print("%s.dat", t->options->plot);
    FILE *to = fopen(path, "w");
    if (to)
        write_data(to, t);
    int failed = !to || fclose(to) != 0;
    fprintf(stderr, failed ? "tutti: %s cannot be written\n" : "tutti: gnuplot was not found: the data is in %s\n",
            path);
    free(path);
    return failed;
}

int bench_plot_write(const struct bench_table *table)
{
    char path[PATH_MAX];
    if (!table->options->plot || table->rows == 0)
        return 0;
    if (!tool_program_find("gnuplot", path)) {
        unlink(table->options->plot); /* made when it was checked that it can be written */
        return write_instead(table);
    }
    FILE *to = popen("gnuplot", "w");
    if (to)
        write_script(to, table);
    int status = to ? pclose(to) : -1;
    if (status == 0)
        return 0;
    fputs("tutti: gnuplot failed\n", stderr);
    write_instead(table);
    return 1;
}
