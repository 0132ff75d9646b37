/* A table as a plot: a line for each way over bytes, of its figure or of its median. */
#include <stdlib.h>

#include "tools/bench/sheet.h"

static const struct bench_shown *sheet_plotted(const struct bench_sheet *sheet)
{
    const struct bench_shown *s = sheet->columns->shown;
    while (s && s->title && !s->peers)
        s++;
    return s && s->title ? s : NULL;
}

static void sheet_write_data(FILE *to, const void *table)
{
    const struct bench_sheet *sheet = table;
    const struct bench_columns *c = sheet->columns;
    const struct bench_shown *s = sheet_plotted(sheet);
    for (int i = 0; i < sheet->lines; i++) {
        const struct bench_line *line = &sheet->line[i];
        fprintf(to, "%lld", line->number[c->size]);
        for (int way = 0; way < c->n_ways; way++) {
            if (s && line->time[way][0].known)
                fprintf(to, " %.4f", s->of(sheet, line, way));
            else
                bench_time_plot(to, line->time[way]);
        }
        fputc('\n', to);
    }
}

static void sheet_write_script(FILE *to, const void *table)
{
    const struct bench_sheet *sheet = table;
    const struct bench_columns *c = sheet->columns;
    const struct bench_shown *s = sheet_plotted(sheet);
    char *what = c->title();
    bench_plot_head(to, sheet->options, what, c->members, sheet->report.device, 900, 600);
    free(what);
    sheet_write_data(to, table);
    fprintf(to,
            "END_OF_DATA\nset datafile missing '-'\nset logscale x 2\nset logscale y 10\nset format x '%%.0b%%B'\n"
            "set xlabel 'bytes'\nset ylabel '%s'\nset key left top\nset grid\nplot ",
            s ? s->title : "median, us");
    for (int way = 0, lines = 0; way < c->n_ways; way++) {
        if (!sheet->has[way])
            continue;
        fprintf(to, "%s$data using 1:%d with linespoints linewidth 2 title \"", lines++ ? ", " : "", way + 2);
        bench_plot_text(to, c->ways[way], 1);
        fputc('"', to);
    }
    fputc('\n', to);
}

int bench_sheet_plot(const void *table)
{
    const struct bench_sheet *sheet = table;
    if (sheet->lines == 0)
        return 0;
    return bench_gnuplot(sheet->options->plot, sheet_write_script, sheet_write_data, table);
}
