/* The table of tutti bench shmem, its JSON and its plot. */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/json.h"
#include "tools/bench/shmem.h"
#include "tutti/tutti.h"

const char *const shmem_ways[GAS_WAYS] = {
#define GAS_WAY(id, name, text) name,
#include "bench/words/gas_ways.def"
#undef GAS_WAY
};
const char *const shmem_figures[GAS_FIGURES] = {
#define GAS_FIGURE(id, name, text, ...) name,
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
};
const char *const shmem_texts[GAS_FIGURES] = {
#define GAS_FIGURE(id, name, text, ...) text,
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
};
const int shmem_rates[GAS_FIGURES] = {
#define GAS_FIGURE(id, name, text, rate, ...) rate,
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
};

double shmem_rate(const struct shmem_row *row, int way)
{
    const double us = row->time[way].median;
    return us <= 0                                         ? 0
           : shmem_rates[row->figure] == GAS_RATE_REQUESTS ? row->blocks * row->threads / us
                                                           : (double)row->bytes / 1000 / us;
}

static void print_head(const struct shmem_table *t)
{
    const struct shmem_options *o = t->options;
    const struct bench_report *r = &t->report;
    printf("# Tutti %s global address space in kernels: %d PEs, %s device, %d GPU%s\n", tutti_version(), o->bench.ranks,
           r->device, r->gpus, r->gpus == 1 ? "" : "s");
    bench_report_print_place(r);
    fputs(r->notes, stdout);
    printf("# data from seed %llu, %s; times in us; x: that way's median in units of Tutti's\n",
           (unsigned long long)o->bench.seed, o->bench.check ? "validated after each launch" : "not validated");
    fflush(stdout);
}

/* 1 where a row of the figure has the way. */
static int has_way(const struct shmem_table *t, int figure, int way)
{
    for (int i = 0; i < t->rows; i++) {
        if (t->row[i].figure == figure && t->row[i].time[way].known)
            return 1;
    }
    return 0;
}

static void print_row(struct shmem_table *t)
{
    const struct shmem_row *row = &t->row[t->rows - 1];
    const struct bench_time *own = &row->time[GAS_TUTTI];
    bench_report_clear(&t->report);
    if (t->rows == 1 || row->figure != row[-1].figure) {
        printf("# %s: %s\n%-10s %-10s %-5s %7s %8s %4s %10s %11s %11s %11s %9s", shmem_figures[row->figure],
               shmem_texts[row->figure], "# Figure", "Call", "To", "Blocks", "Threads", "PEs", "Bytes", "Median", "Min",
               "Max", shmem_rates[row->figure] == GAS_RATE_REQUESTS ? "M/s" : "GB/s");
        for (int way = 1; way < GAS_WAYS; way++) {
            if (has_way(t, row->figure, way))
                bench_time_print_title(shmem_ways[way]);
        }
        putchar('\n');
    }
    printf("%-10s %-10s %-5s", shmem_figures[row->figure], row->name, row->target);
    if (row->blocks > 0)
        printf(" %7u %8u", row->blocks, row->threads);
    else
        printf(" %7s %8s", "-", "-");
    printf(" %4d %10zu", row->pes, row->bytes);
    if (own->known)
        printf(" %11.2f %11.2f %11.2f", own->median, own->least, own->most);
    else
        printf(" %11s %11s %11s", "-", "-", "-");
    if (own->known && shmem_rates[row->figure])
        printf(" %9.2f", shmem_rate(row, GAS_TUTTI));
    else
        printf(" %9s", "-");
    for (int way = 1; way < GAS_WAYS; way++) {
        if (has_way(t, row->figure, way))
            bench_time_print(&row->time[way], own);
    }
    putchar('\n');
    fflush(stdout);
}

static void begin_row(struct shmem_table *t, const char *text)
{
    struct shmem_row row = {.bytes = 0};
    char figure[16];
    if (t->rows == SHMEM_ROWS || sscanf(text, "%zu %15s %15s %7s %u %u %d", &row.bytes, figure, row.name, row.target,
                                        &row.blocks, &row.threads, &row.pes) != 7)
        return;
    for (row.figure = 0; row.figure < GAS_FIGURES && strcmp(figure, shmem_figures[row.figure]) != 0; row.figure++)
        ;
    if (row.figure == GAS_FIGURES)
        return;
    t->row[t->rows++] = row;
    t->report.open = 1;
}

void shmem_table_record(void *table, char *text)
{
    struct shmem_table *t = table;
    char *rest = bench_report_take(&t->report, text);
    if (!rest)
        return;
    if (strcmp(text, "start") == 0)
        print_head(t);
    else if (strcmp(text, "row") == 0)
        begin_row(t, rest);
    else if (strcmp(text, "time") == 0 && t->report.open) {
        int direction;
        struct bench_time time;
        const int way = bench_time_read(rest, shmem_ways, GAS_WAYS, &direction, &time);
        if (way >= 0)
            t->row[t->rows - 1].time[way] = time;
    } else if (strcmp(text, "done") == 0 && t->report.open) {
        print_row(t);
        t->report.open = 0;
    }
}

#ifdef TUTTI_JANSSON
static json_t *row_json(const struct shmem_row *row)
{
    json_t *out =
        json_pack("{s:s, s:o, s:o, s:I, s:I, s:i, s:I}", "figure", shmem_figures[row->figure], "call",
                  bench_json_text(row->name), "to", bench_json_text(row->target), "blocks", (json_int_t)row->blocks,
                  "threads", (json_int_t)row->threads, "pes", row->pes, "bytes", (json_int_t)row->bytes);
    for (int way = 0; way < GAS_WAYS; way++) {
        if (!row->time[way].known)
            continue;
        json_t *time = bench_json_time(&row->time[way], &row->time[GAS_TUTTI]);
        if (shmem_rates[row->figure])
            json_object_set_new(time, shmem_rates[row->figure] == GAS_RATE_REQUESTS ? "requests_per_us" : "gb_per_s",
                                json_real(shmem_rate(row, way)));
        json_object_set_new(out, shmem_ways[way], time);
    }
    return out;
}

int shmem_json_write(const void *written)
{
    const struct shmem_table *table = written;
    const struct shmem_options *o = table->options;
    json_t *all = bench_json_about(&o->bench, table->report.place), *rows = json_array();
    for (int i = 0; i < table->rows; i++)
        json_array_append_new(rows, row_json(&table->row[i]));
    json_object_set_new(all, "benchmark", json_string("shmem"));
    bench_json_report(all, &o->bench, &table->report);
    json_object_set_new(all, "rows", rows);
    return bench_json_dump(all, o->bench.json);
}
#endif
