/* Plots by gnuplot; without gnuplot the data are written. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/bench.h"

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

void bench_plot_head(FILE *to, const struct bench_options *o, const char *what, const char *members, const char *device,
                     int wide, int high)
{
    fprintf(to, "set terminal pngcairo size %d,%d\nset output \"", wide, high);
    bench_plot_text(to, o->plot, 0);
    fputs("\"\nset title \"", to);
    bench_plot_text(to, what, 1);
    fprintf(to, ", %d ", o->ranks);
    bench_plot_text(to, members ? members : "ranks", 1);
    fprintf(to, ", %s device\"\n$data << END_OF_DATA\n", device);
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
