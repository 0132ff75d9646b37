/* tutti bench allreduce --phases ...: where the time of a blocking call goes. A table of its own kind: its columns are
 * parts of one time, not ways. */
#include "tools/bench/phases.h"

#include <stdlib.h>
#include <string.h>

#include "core/phases.h"
#include "tools/bench/json.h"
#include "tutti/tutti.h"

struct phases_part {
    const char *name;
    double us;
};
enum { PARTS = TUTTI_PHASES + 2 }; /* those of the recorder, the entry, and the notice after the kernel */

/* The parts of a row, in the order of time. Without a time in stream order the notice belongs to the kernel, and its
 * own time is negative. */
static void phases_parts(const struct phases_row *row, struct phases_part out[PARTS])
{
    double entry = row->whole, kernel = row->phase[TUTTI_PHASE_KERNEL];
    int n = 0;
    for (int p = 0; p < TUTTI_PHASES; p++)
        entry -= row->phase[p];
    out[n++] = (struct phases_part){"entry", entry > 0 ? entry : 0};
    for (int p = 0; p < TUTTI_PHASES; p++) {
        out[n++] = (struct phases_part){tutti_phase_name(p), row->phase[p]};
        if (p != TUTTI_PHASE_KERNEL)
            continue;
        double own = row->ordered >= 0 && row->ordered < kernel ? row->ordered : kernel;
        out[n - 1].us = own;
        out[n++] = (struct phases_part){"notice", row->ordered >= 0 ? kernel - own : -1};
    }
}

/* ---- the table ---- */

/* The last parts are of calls over nodes. */
static int parts_shown(const struct phases_table *t)
{
    return t->report.nodes > 1 ? PARTS : PARTS - (TUTTI_PHASES - TUTTI_PHASE_COPY_OUT);
}

static void phases_print_head(struct phases_table *t)
{
    const struct bench_options *o = t->options;
    static const struct phases_row none;
    struct phases_part parts[PARTS];
    bench_report_clear(&t->report);
    printf("# Tutti %s MPI_%s by phases: %d %s, %s device, %d GPU%s\n", tutti_version(), o->kind->call, o->ranks,
           t->members, t->report.device, t->report.gpus, t->report.gpus == 1 ? "" : "s");
    bench_report_print_place(&t->report);
    fputs(t->report.notes, stdout);
    printf("# data from seed %llu, %s; times in us; means over ranks and over the middle four fifths of the calls\n",
           (unsigned long long)o->seed, o->check ? "validated in the timed loop" : "not validated");
    phases_parts(&none, parts);
    printf("%-10s %9s", "# Size", "Whole");
    for (int p = 0; p < parts_shown(t); p++)
        printf(" %9s", parts[p].name);
    printf(" %10s  %-9s\n", "Iterations", "Algorithm");
    fflush(stdout);
}

static void phases_print_row(struct phases_table *t)
{
    const struct phases_row *row = &t->row[t->rows - 1];
    struct phases_part parts[PARTS];
    bench_report_clear(&t->report);
    phases_parts(row, parts);
    printf("%-10zu %9.2f", row->bytes, row->whole);
    for (int p = 0; p < parts_shown(t); p++) {
        if (parts[p].us < 0)
            printf(" %9s", "-");
        else
            printf(" %9.2f", parts[p].us);
    }
    printf(" %10ld  %-9s\n", row->iterations, row->algorithm);
    fflush(stdout);
}

static void phases_begin_row(struct phases_table *t, const char *text)
{
    struct phases_row *row = &t->row[t->rows];
    if (t->rows == PHASES_ROWS)
        return;
    *row = (struct phases_row){.bytes = 0};
    if (sscanf(text, "%zu %zu %ld %95[^\n]", &row->bytes, &row->count, &row->iterations, row->algorithm) != 4)
        return;
    t->rows++;
    t->report.open = 1;
}

void bench_phases_record(void *table, char *text)
{
    struct phases_table *t = table;
    char *rest = bench_report_take(&t->report, text);
    struct phases_row *row = rest && t->report.open ? &t->row[t->rows - 1] : NULL;
    int phase;
    double us;
    if (!rest)
        return;
#define IS(name) (strcmp(text, name) == 0)
    if (IS("start"))
        phases_print_head(t);
    else if (IS("refused"))
        t->refuse(&t->report, rest);
    else if (IS("row"))
        phases_begin_row(t, rest);
    else if (IS("phase") && row && sscanf(rest, "%d %lf", &phase, &us) == 2 && phase >= 0 && phase < TUTTI_PHASES)
        row->phase[phase] = us;
    else if (IS("whole") && row)
        sscanf(rest, "%lf %lf", &row->whole, &row->ordered);
    else if (IS("done") && row) {
        phases_print_row(t);
        t->report.open = 0;
    }
#undef IS
}

/* ---- files ---- */

#ifdef TUTTI_JANSSON
static json_t *phases_row_json(const struct phases_row *row)
{
    struct phases_part parts[PARTS];
    json_t *all = json_object();
    phases_parts(row, parts);
    for (int p = 0; p < PARTS; p++) {
        if (parts[p].us >= 0)
            json_object_set_new(all, parts[p].name, json_real(parts[p].us));
    }
    return json_pack("{s:I, s:I, s:I, s:o, s:f, s:o, s:o}", "bytes", (json_int_t)row->bytes, "elements",
                     (json_int_t)row->count, "iterations", (json_int_t)row->iterations, "algorithm",
                     bench_json_text(row->algorithm), "whole_us", row->whole, "stream_order_us",
                     row->ordered >= 0 ? json_real(row->ordered) : json_null(), "phases_us", all);
}

int bench_phases_json(const void *table)
{
    const struct phases_table *t = table;
    const struct bench_options *o = t->options;
    json_t *all = bench_json_about(o, t->report.place), *rows = json_array();
    json_object_set_new(all, "benchmark", json_string(o->kind->name));
    bench_json_choices(all, t->choice);
    bench_json_report(all, o, &t->report);
    for (int i = 0; i < t->rows; i++)
        json_array_append_new(rows, phases_row_json(&t->row[i]));
    json_object_set_new(all, "rows", rows);
    return bench_json_dump(all, o->json);
}
#endif

static void phases_write_data(FILE *to, const void *table)
{
    const struct phases_table *t = table;
    struct phases_part parts[PARTS];
    char size[24];
    for (int i = 0; i < t->rows; i++) {
        phases_parts(&t->row[i], parts);
        if (i == 0) {
            fputs("bytes", to);
            for (int p = 0; p < PARTS; p++)
                fprintf(to, " %s", parts[p].name);
            fputc('\n', to);
        }
        fprintf(to, "%s", tool_size_text(t->row[i].bytes, size));
        for (int p = 0; p < PARTS; p++)
            fprintf(to, " %.4f", parts[p].us > 0 ? parts[p].us : 0);
        fputc('\n', to);
    }
}

static void phases_write_script(FILE *to, const void *table)
{
    const struct phases_table *t = table;
    char *what = tool_print("MPI_%s", t->options->kind->call);
    bench_plot_head(to, t->options, what, t->members, t->report.device, 900, 1000);
    free(what);
    phases_write_data(to, table);
    fputs("END_OF_DATA\n", to);
    fprintf(to,
            "set linetype 9 linecolor rgb '#8c564b'\nset linetype 10 linecolor rgb '#7f7f7f'\n"
            "set style data histograms\nset style histogram rowstacked\nset style fill solid 0.8\nset boxwidth 0.8\n"
            "set ylabel 'us'\nset xlabel 'bytes'\nset xtics rotate by -45\nset grid y\n"
            "set key outside right\nset multiplot layout 2,1\nset yrange [0:*]\n"
            "plot for [i=2:%d] $data using i:xtic(1) title columnheader(i)\n"
            "set ylabel 'parts of the call, %%'\nset yrange [0:100]\nunset title\n"
            "plot for [i=2:%d] $data using (100.0*column(i)/(sum [j=2:%d] column(j))):xtic(1) title columnheader(i)\n"
            "unset multiplot\n",
            PARTS + 1, PARTS + 1, PARTS + 1);
}

int bench_phases_plot(const void *table)
{
    const struct phases_table *t = table;
    return t->rows == 0 ? 0 : bench_gnuplot(t->options->plot, phases_write_script, phases_write_data, table);
}
