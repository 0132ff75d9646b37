/* The table of tutti bench halo and pingpong, its JSON and its plot. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_exchange.h"
#include "bench_json.h"
#include "tutti/tutti.h"

static const char *const ways[EXCHANGE_WAYS] = {
#define EXCHANGE_WAY(id, name, text) name,
#include "../bench/exchange_ways.def"
#undef EXCHANGE_WAY
};

const char *exchange_way_title(int way)
{
    return ways[way];
}

static double ratio(const struct exchange_row *row, int way)
{
    const double own = row->time[EXCHANGE_TUTTI].median;
    return own > 0 ? row->time[way].median / own : 0;
}

static void clear_progress(struct exchange_table *t)
{
    if (t->progress)
        fputs("\r\033[K", stderr);
    t->progress = 0;
}

static void print_head(const struct exchange_table *t)
{
    const struct exchange_options *o = t->options;
    printf("# Tutti %s %s: %d ranks, %s device, %d GPU%s\n", tutti_version(),
           o->halo ? "halo exchange" : "ping-pong of a type", o->bench.ranks, t->device, t->gpus,
           t->gpus == 1 ? "" : "s");
    printf("# %s (%s), %d node%s; GPU: %s\n", t->mpi, t->place->mpi->launcher, t->nodes, t->nodes == 1 ? "" : "s",
           t->gpu[0] ? t->gpu : "-");
    if (o->halo)
        printf("# periodic, 26 neighbours, rim of %d cells, %d quantities of 8 bytes\n", o->radius, o->quantities);
    printf("# data from seed %llu, %s; times in us; x: that way's median in units of Tutti's\n",
           (unsigned long long)o->bench.seed, o->bench.check ? "validated in the timed loop" : "not validated");
    fflush(stdout);
}

static void print_row(struct exchange_table *t)
{
    const struct exchange_row *row = &t->row[t->rows - 1];
    const struct bench_time *own = &row->time[EXCHANGE_TUTTI];
    clear_progress(t);
    if (t->rows == 1) {
        printf("%-16s %10s %11s %11s %11s %10s  %-24s", "# Layout", "Bytes", "Median", "Min", "Max", "Iterations",
               "Algorithm");
        for (int way = 1; way < EXCHANGE_WAYS; way++) {
            if (row->time[way].known)
                printf(" %11s %7s", ways[way], "x");
        }
        putchar('\n');
    }
    printf("%-16s %10zu %11.2f %11.2f %11.2f %10ld  %-24s", row->name, row->bytes, own->median, own->least, own->most,
           own->iterations, row->how);
    for (int way = 1; way < EXCHANGE_WAYS; way++) {
        if (row->time[way].known)
            printf(" %11.2f %7.2f", row->time[way].median, ratio(row, way));
    }
    putchar('\n');
    fflush(stdout);
}

static void show_progress(struct exchange_table *t, const char *text)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K%s", text);
    t->progress = 1;
}

static void begin_row(struct exchange_table *t, const char *text)
{
    struct exchange_row row = {.bytes = 0};
    if (t->rows == EXCHANGE_ROWS || sscanf(text, "%zu %63[^\n]", &row.bytes, row.name) != 2)
        return;
    t->row[t->rows++] = row;
    t->open = 1;
}

static void add_time(struct exchange_table *t, const char *text)
{
    char name[16];
    struct bench_time time = {.known = 1};
    if (!t->open || sscanf(text, "%15s %*d %lf %lf %lf %lf %ld", name, &time.average, &time.median, &time.least,
                           &time.most, &time.iterations) != 6)
        return;
    for (int way = 0; way < EXCHANGE_WAYS; way++) {
        if (strcmp(ways[way], name) == 0)
            t->row[t->rows - 1].time[way] = time;
    }
}

void exchange_table_record(void *table, char *text)
{
    struct exchange_table *t = table;
    char *rest = text + strcspn(text, " ");
    if (*rest)
        *rest++ = '\0';
#define IS(name)    (strcmp(text, name) == 0)
#define KEEP(field) snprintf(t->field, sizeof t->field, "%s", rest)
    if (IS("mpi"))
        KEEP(mpi);
    else if (IS("device"))
        KEEP(device);
    else if (IS("gpu"))
        KEEP(gpu);
    else if (IS("nodes"))
        t->nodes = atoi(rest);
    else if (IS("gpus"))
        t->gpus = atoi(rest);
    else if (IS("start"))
        print_head(t);
    else if (IS("progress"))
        show_progress(t, rest);
    else if (IS("row"))
        begin_row(t, rest);
    else if (IS("how") && t->open)
        KEEP(row[t->rows - 1].how);
    else if (IS("time"))
        add_time(t, rest);
    else if (IS("done") && t->open) {
        print_row(t);
        t->open = 0;
    } else if (IS("wrong")) {
        clear_progress(t);
        KEEP(wrong);
        fprintf(stderr, "tutti: wrong result: %s\n", rest);
    } else if (IS("end")) {
        clear_progress(t);
        t->ended = 1;
        t->right = atoi(rest);
    }
#undef IS
#undef KEEP
}

#ifdef TUTTI_JANSSON
static json_t *row_json(const struct exchange_row *row)
{
    json_t *out = json_pack("{s:o, s:I, s:o}", "layout", bench_json_text(row->name), "bytes", (json_int_t)row->bytes,
                            "algorithm", bench_json_text(row->how));
    for (int way = 0; way < EXCHANGE_WAYS; way++) {
        const struct bench_time *time = &row->time[way];
        if (!time->known)
            continue;
        json_t *numbers =
            json_pack("{s:f, s:f, s:f, s:f, s:I}", "average_us", time->average, "median_us", time->median, "min_us",
                      time->least, "max_us", time->most, "iterations", (json_int_t)time->iterations);
        if (way != EXCHANGE_TUTTI)
            json_object_set_new(numbers, "ratio", json_real(ratio(row, way)));
        json_object_set_new(out, ways[way], numbers);
    }
    return out;
}

int exchange_json_write(const struct exchange_table *table)
{
    const struct exchange_options *o = table->options;
    if (!o->bench.json)
        return 0;
    json_t *all = bench_json_about(&o->bench, table->place), *rows = json_array();
    for (int i = 0; i < table->rows; i++)
        json_array_append_new(rows, row_json(&table->row[i]));
    json_object_set_new(all, "benchmark", json_string(o->halo ? "halo" : "pingpong"));
    json_object_set_new(all, "mpi_library", bench_json_text(table->mpi));
    json_object_set_new(all, "nodes", json_integer(table->nodes));
    json_object_set_new(all, "device", bench_json_text(table->device));
    json_object_set_new(all, "gpu", bench_json_text(table->gpu));
    json_object_set_new(all, "gpus", json_integer(table->gpus));
    if (o->halo) {
        json_object_set_new(all, "radius", json_integer(o->radius));
        json_object_set_new(all, "quantities", json_integer(o->quantities));
    }
    json_object_set_new(all, "seed", json_integer((json_int_t)o->bench.seed));
    json_object_set_new(all, "validated", json_boolean(o->bench.check));
    json_object_set_new(all, "wrong", bench_json_text(table->wrong));
    json_object_set_new(all, "rows", rows);
    return bench_json_dump(all, o->bench.json);
}
#else
int exchange_json_write(const struct exchange_table *table)
{
    (void)table;
    return 0;
}
#endif

static void write_data(FILE *to, const void *table)
{
    const struct exchange_table *t = table;
    for (int i = 0; i < t->rows; i++) {
        fprintf(to, "%zu", t->row[i].bytes);
        for (int way = 0; way < EXCHANGE_WAYS; way++) {
            if (t->row[i].time[way].known)
                fprintf(to, " %.4f", t->row[i].time[way].median);
            else
                fputs(" -", to);
        }
        fputc('\n', to);
    }
}

static void write_script(FILE *to, const void *table)
{
    const struct exchange_table *t = table;
    fputs("set terminal pngcairo size 900,600\nset output \"", to);
    for (const char *c = t->options->bench.plot; *c; c++)
        fprintf(to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fprintf(to, "\"\nset title \"%s, %d ranks, %s device\"\n$data << END_OF_DATA\n",
            t->options->halo ? "Halo exchange" : "Ping-pong of a type", t->options->bench.ranks, t->device);
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

int exchange_plot_write(const struct exchange_table *table)
{
    if (!table->options->bench.plot || table->rows == 0)
        return 0;
    return bench_gnuplot(table->options->bench.plot, write_script, write_data, table);
}
