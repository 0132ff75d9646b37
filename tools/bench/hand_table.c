/* The table of tutti bench never-slower, what it says at the end, and its JSON. */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/hand.h"
#include "tools/bench/json.h"
#include "tutti/tutti.h"

static const char *const ways[HAND_WAYS] = {HAND_WAY_NAMES};

int hand_row_is_behind(const struct hand_table *table, const struct hand_row *row)
{
    const struct bench_time *own = &row->time[HAND_WAY_TUTTI], *hand = &row->time[HAND_WAY_BY_HAND];
    return own->known && hand->known && own->median > hand->median * (1 + table->options->tolerance / 100);
}

static void print_head(const struct hand_table *t)
{
    const struct bench_options *o = &t->options->bench;
    const struct bench_report *r = &t->report;
    printf("# Tutti %s, every call beside the same by hand: %d ranks, %s device, %d GPU%s\n", tutti_version(), o->ranks,
           r->device, r->gpus, r->gpus == 1 ? "" : "s");
    bench_report_print_place(r);
    fputs(r->notes, stdout);
    printf(
        "# by_hand: a copy to %s host memory, the MPI's own call, a copy back; times in us; x: its median in units of "
        "Tutti's\n",
        t->staging[0] ? t->staging : "ordinary");
    printf("# data from seed %llu, %s\n", (unsigned long long)o->seed,
           o->check ? "validated in the timed loop" : "not validated");
    printf("%-28s %10s %11s %11s %11s %10s", "# Call", "Bytes", "Median", "Min", "Max", "Iterations");
    bench_time_print_title(ways[HAND_WAY_BY_HAND]);
    puts("          how");
    fflush(stdout);
}

static void print_row(struct hand_table *t)
{
    const struct hand_row *row = &t->row[t->rows - 1];
    const struct bench_time *own = &row->time[HAND_WAY_TUTTI];
    bench_report_clear(&t->report);
    printf("%-28s %10zu %11.2f %11.2f %11.2f %10ld", row->name, row->bytes, own->median, own->least, own->most,
           own->iterations);
    bench_time_print(&row->time[HAND_WAY_BY_HAND], own);
    printf("  %-6s  %s\n", hand_row_is_behind(t, row) ? "behind" : "", row->how);
    fflush(stdout);
}

int hand_table_end(const struct hand_table *table)
{
    int behind = 0;
    for (int i = 0; i < table->rows; i++)
        behind += hand_row_is_behind(table, &table->row[i]);
    if (behind == 0) {
        printf("# never slower: none of %d rows is behind copying by hand by more than %g %%\n", table->rows,
               table->options->tolerance);
        return 0;
    }
    printf("# never slower: %d of %d rows %s behind copying by hand by more than %g %%:\n", behind, table->rows,
           behind == 1 ? "is" : "are", table->options->tolerance);
    for (int i = 0; i < table->rows; i++) {
        const struct hand_row *row = &table->row[i];
        if (hand_row_is_behind(table, row))
            printf("#   %s, %zu bytes: x %.2f, %s\n", row->name, row->bytes,
                   bench_time_ratio(&row->time[HAND_WAY_BY_HAND], &row->time[HAND_WAY_TUTTI]), row->how);
    }
    return behind;
}

static void begin_row(struct hand_table *t, const char *text)
{
    struct hand_row row = {.bytes = 0};
    if (t->rows == HAND_ROWS || sscanf(text, "%zu %39s", &row.bytes, row.name) != 2)
        return;
    t->row[t->rows++] = row;
    t->report.open = 1;
}

static void add_time(struct hand_table *t, const char *text)
{
    int direction;
    struct bench_time time;
    const int way = t->report.open ? bench_time_read(text, ways, HAND_WAYS, &direction, &time) : -1;
    if (way >= 0)
        t->row[t->rows - 1].time[way] = time;
}

void hand_table_record(void *table, char *text)
{
    struct hand_table *t = table;
    char *rest = bench_report_take(&t->report, text);
    if (!rest)
        return;
#define IS(name) (strcmp(text, name) == 0)
    if (IS("start"))
        print_head(t);
    else if (IS("staging"))
        snprintf(t->staging, sizeof t->staging, "%s", rest);
    else if (IS("row"))
        begin_row(t, rest);
    else if (IS("how") && t->report.open)
        snprintf(t->row[t->rows - 1].how, sizeof t->row[0].how, "%s", rest);
    else if (IS("time"))
        add_time(t, rest);
    else if (IS("done") && t->report.open) {
        print_row(t);
        t->report.open = 0;
    }
#undef IS
}

#ifdef TUTTI_JANSSON
int hand_json_write(const void *written)
{
    const struct hand_table *table = written;
    const struct hand_options *o = table->options;
    json_t *all = bench_json_about(&o->bench, table->report.place), *rows = json_array();
    int behind = 0;
    for (int i = 0; i < table->rows; i++) {
        const struct hand_row *row = &table->row[i];
        json_t *out =
            json_pack("{s:o, s:I, s:o, s:b}", "call", bench_json_text(row->name), "bytes", (json_int_t)row->bytes,
                      "how", bench_json_text(row->how), "behind", hand_row_is_behind(table, row));
        for (int way = 0; way < HAND_WAYS; way++)
            json_object_set_new(out, ways[way], bench_json_time(&row->time[way], &row->time[HAND_WAY_TUTTI]));
        json_array_append_new(rows, out);
        behind += hand_row_is_behind(table, row);
    }
    json_object_set_new(all, "benchmark", json_string(BENCH_DOES_HAND));
    json_object_set_new(all, "tolerance_percent", json_real(o->tolerance));
    json_object_set_new(all, "behind", json_integer(behind));
    bench_json_report(all, &o->bench, &table->report);
    json_object_set_new(all, "rows", rows);
    return bench_json_dump(all, o->bench.json);
}
#endif
