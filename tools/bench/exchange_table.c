/* The table of tutti bench halo and pingpong, its JSON and its plot. */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/exchange.h"
#include "tools/bench/json.h"
#include "tutti/tutti.h"

static const char *const ways[EXCHANGE_WAYS] = {
#define EXCHANGE_WAY(id, name, text) name,
#include "bench/words/exchange_ways.def"
#undef EXCHANGE_WAY
};

const char *exchange_way_title(int way)
{
    return ways[way];
}

static int has_rules(int way)
{
    return way >= EXCHANGE_BY_STAGED && way <= EXCHANGE_BY_PIPELINED;
}

/* The time that a way's is compared with. */
static const struct bench_time *base_of(const struct exchange_table *t, const struct exchange_row *row, int way)
{
    return &row->time[has_rules(way) && t->options->halo ? EXCHANGE_ISEND : EXCHANGE_TUTTI];
}

static void print_head(const struct exchange_table *t)
{
    const struct exchange_options *o = t->options;
    const struct bench_report *r = &t->report;
    printf("# Tutti %s %s: %d ranks, %s device, %d GPU%s\n", tutti_version(),
           o->halo ? "halo exchange" : "ping-pong of a type", o->bench.ranks, r->device, r->gpus,
           r->gpus == 1 ? "" : "s");
    bench_report_print_place(r);
    fputs(r->notes, stdout);
    if (o->halo)
        printf("# periodic, 26 neighbours, rim of %d cells, %d quantities of 8 bytes\n", o->radius, o->quantities);
    printf("# data from seed %llu, %s; times in us; x: that way's median in units of Tutti's\n",
           (unsigned long long)o->bench.seed, o->bench.check ? "validated in the timed loop" : "not validated");
    if ((o->ways >> EXCHANGE_BY_STAGED & 15) && o->bench.ranks > 1)
        printf("# by_: %s with the rule 'message: *@...' (between nodes message_far:); x: in units of %s's, with the "
               "rules in force; went: how many "
               "of the messages of all ranks, by the library's counters\n",
               o->halo ? "isend" : "tutti", o->halo ? "isend" : "tutti");
    fflush(stdout);
}

static void print_row(struct exchange_table *t)
{
    const struct exchange_row *row = &t->row[t->rows - 1];
    const struct bench_time *own = &row->time[EXCHANGE_TUTTI];
    const int went_width = t->options->halo ? 22 : 9;
    bench_report_clear(&t->report);
    if (t->rows == 1) {
        printf("%-16s %10s %11s %11s %11s %10s  %-24s", "# Layout", "Bytes", "Median", "Min", "Max", "Iterations",
               "Algorithm");
        for (int way = 1; way < EXCHANGE_WAYS; way++) {
            if (row->time[way].known)
                bench_time_print_title(ways[way]);
            if (row->time[way].known && has_rules(way))
                printf("  %-*s", went_width, "went");
        }
        putchar('\n');
    }
    printf("%-16s %10zu %11.2f %11.2f %11.2f %10ld  %-24s", row->name, row->bytes, own->median, own->least, own->most,
           own->iterations, row->how);
    for (int way = 1; way < EXCHANGE_WAYS; way++) {
        if (row->time[way].known)
            bench_time_print(&row->time[way], base_of(t, row, way));
        if (row->time[way].known && has_rules(way))
            printf("  %-*s", went_width, row->went[way]);
    }
    putchar('\n');
    fflush(stdout);
}

static void begin_row(struct exchange_table *t, const char *text)
{
    struct exchange_row row = {.bytes = 0};
    if (t->rows == EXCHANGE_ROWS || sscanf(text, "%zu %63[^\n]", &row.bytes, row.name) != 2)
        return;
    t->row[t->rows++] = row;
    t->report.open = 1;
}

static void set_went(struct exchange_table *t, const char *text)
{
    struct exchange_row *row = &t->row[t->rows - 1];
    const size_t length = strcspn(text, " ");
    for (int way = 0; way < EXCHANGE_WAYS; way++) {
        if (strlen(ways[way]) == length && strncmp(ways[way], text, length) == 0)
            snprintf(row->went[way], sizeof row->went[way], "%s", text + length + (text[length] == ' '));
    }
}

static void add_time(struct exchange_table *t, const char *text)
{
    int direction;
    struct bench_time time;
    int way = t->report.open ? bench_time_read(text, ways, EXCHANGE_WAYS, &direction, &time) : -1;
    if (way >= 0)
        t->row[t->rows - 1].time[way] = time;
}

void exchange_table_record(void *table, char *text)
{
    struct exchange_table *t = table;
    char *rest = bench_report_take(&t->report, text);
    if (!rest)
        return;
#define IS(name) (strcmp(text, name) == 0)
    if (IS("start"))
        print_head(t);
    else if (IS("row"))
        begin_row(t, rest);
    else if (IS("how") && t->report.open)
        snprintf(t->row[t->rows - 1].how, sizeof t->row[0].how, "%s", rest);
    else if (IS("went") && t->report.open)
        set_went(t, rest);
    else if (IS("time"))
        add_time(t, rest);
    else if (IS("done") && t->report.open) {
        print_row(t);
        t->report.open = 0;
    }
#undef IS
}

#ifdef TUTTI_JANSSON
static json_t *row_json(const struct exchange_table *t, const struct exchange_row *row)
{
    json_t *out = json_pack("{s:o, s:I, s:o}", "layout", bench_json_text(row->name), "bytes", (json_int_t)row->bytes,
                            "algorithm", bench_json_text(row->how));
    for (int way = 0; way < EXCHANGE_WAYS; way++) {
        if (!row->time[way].known)
            continue;
        json_t *time = bench_json_time(&row->time[way], base_of(t, row, way));
        if (has_rules(way))
            json_object_set_new(time, "went", bench_json_text(row->went[way]));
        json_object_set_new(out, ways[way], time);
    }
    return out;
}

int exchange_json_write(const void *written)
{
    const struct exchange_table *table = written;
    const struct exchange_options *o = table->options;
    json_t *all = bench_json_about(&o->bench, table->report.place), *rows = json_array();
    for (int i = 0; i < table->rows; i++)
        json_array_append_new(rows, row_json(table, &table->row[i]));
    json_object_set_new(all, "benchmark", json_string(o->halo ? "halo" : "pingpong"));
    if (o->halo) {
        json_object_set_new(all, "radius", json_integer(o->radius));
        json_object_set_new(all, "quantities", json_integer(o->quantities));
    }
    bench_json_report(all, &o->bench, &table->report);
    json_object_set_new(all, "rows", rows);
    return bench_json_dump(all, o->bench.json);
}
#endif

static void write_data(FILE *to, const void *table)
{
    const struct exchange_table *t = table;
    for (int i = 0; i < t->rows; i++) {
        fprintf(to, "%zu", t->row[i].bytes);
        for (int way = 0; way < EXCHANGE_WAYS; way++)
            bench_time_plot(to, &t->row[i].time[way]);
        fputc('\n', to);
    }
}

static void write_script(FILE *to, const void *table)
{
    const struct exchange_table *t = table;
    fputs("set terminal pngcairo size 900,600\nset output \"", to);
    bench_plot_text(to, t->options->bench.plot, 0);
    fprintf(to, "\"\nset title \"%s, %d ranks, %s device\"\n$data << END_OF_DATA\n",
            t->options->halo ? "Halo exchange" : "Ping-pong of a type", t->options->bench.ranks, t->report.device);
    write_data(to, t);
    fputs("END_OF_DATA\nset datafile missing '-'\nset logscale x 2\nset logscale y 10\nset format x '%.0b%B'\n"
          "set xlabel 'bytes'\nset ylabel 'median, us'\nset key left top\nset grid\nplot ",
          to);
    for (int way = 0; way < EXCHANGE_WAYS; way++) {
        if (t->row[0].time[way].known)
            fprintf(to, "%s$data using 1:%d with linespoints linewidth 2 title '%s'", way ? ", " : "", way + 2,
                    ways[way]);
    }
    fputc('\n', to);
}

int exchange_plot_write(const void *written)
{
    const struct exchange_table *table = written;
    if (table->rows == 0)
        return 0;
    return bench_gnuplot(table->options->bench.plot, write_script, write_data, table);
}
