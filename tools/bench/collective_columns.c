/* tutti bench allreduce, reduce ...: the columns of their tables, and the plot of pairs. */
#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "tools/bench/collective.h"

struct bench_options collective_options;
const char *const collective_orders[BENCH_ORDERS] = {BENCH_ORDER_NAMES};
char collective_members[64];

static const char *const way_names[] = {
#define BENCH_WAY(id, name, text) name,
#include "bench/words/ways.def"
#undef BENCH_WAY
};

void collective_set_members(void)
{
    const struct bench_options *o = &collective_options;
    char call[40] = "types and operators", root[24] = "";
    if (!o->pairs)
        snprintf(call, sizeof call, "%s of %s", tutti_op_name(o->op), tutti_type_name(o->type));
    if (o->root == BENCH_ALL_ROOTS)
        snprintf(root, sizeof root, ", root changing");
    else if (o->root > 0)
        snprintf(root, sizeof root, ", root %d", o->root);
    snprintf(collective_members, sizeof collective_members, "ranks, %s%s%s", call, root,
             o->in_place ? ", in place" : "");
}

/* "MPI_Reduce", "MPIX_Reduce_enqueue in a graph" */
static char *collective_call(void)
{
    const struct bench_options *o = &collective_options;
    if (o->order == BENCH_HOST)
        return tool_print("MPI_%s", o->kind->call);
    return tool_print("MPIX_%s_enqueue %s", o->kind->call, o->order == BENCH_GRAPH ? "in a graph" : "back to back");
}

static char *collective_title(void)
{
    char *call = collective_call(), *title = tool_print("%s latency", call);
    free(call);
    return title;
}

static const char *const facts[] = {"nccl", "staging", NULL};

static void collective_about(const struct bench_sheet *sheet)
{
    if (sheet->has[BENCH_STAGED])
        printf("# staged: %s host memory\n", sheet->fact[1]);
    if (sheet->fact[0][0])
        printf("# NCCL %s\n", sheet->fact[0]);
    if (collective_options.pairs)
        puts("# reference: the sum of float over as many bytes");
}

const char *collective_choice(int i, const char **text)
{
    const struct bench_options *o = &collective_options;
    const struct {
        const char *key, *text;
    } all[] = {{"order", collective_orders[o->order]},
               {"rules", o->algorithm},
               {"type", o->pairs ? NULL : tutti_type_name(o->type)},
               {"op", o->pairs ? NULL : tutti_op_name(o->op)},
               {o->root == BENCH_ALL_ROOTS ? "root" : NULL, "all"},
               {NULL, NULL}};
    *text = all[i].text;
    return all[i].key;
}

static const char *collective_option(int i, double *value)
{
    *value = i == 0 ? collective_options.in_place : collective_options.root;
    return i == 0 ? "in_place" : i == 1 && collective_options.root != BENCH_ALL_ROOTS ? "root" : NULL;
}

void collective_refuse(struct bench_report *report, const char *record)
{
    static const struct {
        const char *name, *text;
    } algorithms[] = {
#define TUTTI_ALGORITHM(name_, order, text_) {#name_, text_},
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
    };
    const struct bench_options *o = &collective_options;
    char *what = collective_call(), name[96] = "";
    size_t bytes = 0;
    int type = 0, op = 0;
    sscanf(record, "%zu %d %d %95[^\n]", &bytes, &type, &op, name);
    bench_report_clear(report);
    fprintf(stderr, "tutti: --algorithm %s does not do %s of %zu bytes, %s of %s, with %d rank%s here (%s would)\n",
            o->algorithm, what, bytes, tutti_op_name(op), tutti_type_name(type), o->ranks, o->ranks == 1 ? "" : "s",
            name);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        if (strcmp(algorithms[i].name, o->algorithm) == 0)
            fprintf(stderr, "tutti: %s: %s\n", o->algorithm, algorithms[i].text);
    }
    report->refused = 1;
    free(what);
}

static int collective_record(struct bench_sheet *sheet, const char *word, const char *rest)
{
    const int type = atoi(rest);
    if (strcmp(word, "refused") == 0) {
        collective_refuse(&sheet->report, rest);
    } else if (strcmp(word, "skip") == 0) {
        bench_report_clear(&sheet->report);
        if (type >= 0 && type < TUTTI_TYPES)
            printf("# %s: this MPI has no type for it\n", tutti_type_name(type));
    } else {
        return 0;
    }
    return 1;
}

static const struct bench_field latency_fields[] = {
    {.key = "bytes", .title = "# Size", .width = -10},
    {.key = "elements"},
    {.key = "iterations"},
    {.key = "algorithm", .title = "Algorithm", .width = -9, .text = 1, .own = 1},
    {.key = NULL}};
static const struct bench_field pairs_fields[] = {
    {.key = "type", .title = "# Type", .width = -18, .text = 1, .word = "type"},
    {.key = "op", .title = "Op", .width = -7, .text = 1, .word = "op"},
    {.key = "bytes", .title = "Size", .width = -10},
    {.key = "elements"},
    {.key = "iterations"},
    {.key = "algorithm", .title = "Algorithm", .width = -9, .text = 1, .own = 1},
    {.key = NULL}};
enum { PAIR_TYPE, PAIR_OP, PAIR_BYTES };

/* A pair of type and operator is a box, beside that of its reference. */
static void pairs_write_data(FILE *to, const void *table)
{
    const struct bench_sheet *sheet = table;
    fputs("# pair us float-sum-us\n", to);
    for (int i = 0; i < sheet->lines; i++) {
        const struct bench_line *line = &sheet->line[i];
        char size[24];
        fprintf(to, "\"%s of %s, %s\" %.4f %.4f\n", line->text[PAIR_OP], line->text[PAIR_TYPE],
                tool_size_text((size_t)line->number[PAIR_BYTES], size), line->time[BENCH_TUTTI][0].median,
                line->time[BENCH_REFERENCE][0].median);
    }
}

static void pairs_write_script(FILE *to, const void *table)
{
    const struct bench_sheet *sheet = table;
    char *what = collective_title();
    bench_plot_head(to, &collective_options, what, collective_members, sheet->report.device,
                    sheet->lines > 20 ? 16 * sheet->lines + 300 : 900, 600);
    free(what);
    pairs_write_data(to, table);
    fputs("END_OF_DATA\nset style data histograms\nset style fill solid 0.8\nset boxwidth 0.8\nset yrange [0:*]\n"
          "set ylabel 'median latency, us'\nset xtics rotate by -60 font ',8' noenhanced\nset grid y\n"
          "set key left top\n"
          "plot $data using 2:xtic(1) title 'the pair', $data using 3 title 'sum of float, as many bytes'\n",
          to);
}

static int pairs_plot(const void *table)
{
    const struct bench_sheet *sheet = table;
    return sheet->lines == 0 ? 0 : bench_gnuplot(collective_options.plot, pairs_write_script, pairs_write_data, table);
}

#define COLLECTIVE_COLUMNS(...)                                                                                        \
    {                                                                                                                  \
        .ways = way_names, .n_ways = BENCH_WAYS,                                                                       \
        .times = SHEET_AVERAGE | SHEET_MEDIAN | SHEET_MIN | SHEET_MAX | SHEET_ITERATIONS, .facts = facts,              \
        .title = collective_title, .members = collective_members, .about = collective_about,                           \
        .option = collective_option, .choice = collective_choice, .record = collective_record, __VA_ARGS__             \
    }
const struct bench_columns collective_latency = COLLECTIVE_COLUMNS(.fields = latency_fields, .best = 2);
const struct bench_columns collective_pairs =
    COLLECTIVE_COLUMNS(.fields = pairs_fields, .size = PAIR_BYTES, .plot = pairs_plot);
