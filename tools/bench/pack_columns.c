/* The columns of tutti bench pack: a row for each call of a layout and description, and below the rows of a layout
 * the spread of its descriptions; of --layout commit a row for each description. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/json.h"
#include "tools/bench/pack.h"

static const char *const pack_ways[PACK_WAYS] = {
#define PACK_WAY(id, name, text) name,
#include "bench/words/pack_ways.def"
#undef PACK_WAY
};
static const char *const commit_ways[COMMIT_WAYS] = {COMMIT_WAY_NAMES};

/* The spread of a layout: the slowest description's median by the fastest one's. */
static struct pack_spread {
    double call[2]; /* pack, unpack */
    char layout[64];
} * spreads;
static int n_spreads;

/* "1.2 1.1 8/1024/128" */
static int pack_record(struct bench_sheet *sheet, const char *word, const char *rest)
{
    struct pack_spread spread;
    if (strcmp(word, "spread") != 0)
        return 0;
    if (sscanf(rest, "%lf %lf %63[^\n]", &spread.call[0], &spread.call[1], spread.layout) != 3)
        return 1;
    spreads = realloc(spreads, (size_t)(n_spreads + 1) * sizeof *spreads);
    if (!spreads)
        tool_refuse("out of memory");
    spreads[n_spreads++] = spread;
    bench_report_clear(&sheet->report);
    printf("# %s: slowest by fastest description: pack %.3f, unpack %.3f\n", spread.layout, spread.call[0],
           spread.call[1]);
    fflush(stdout);
    return 1;
}

static const struct pack_spread *spread_widest(int unpack)
{
    const struct pack_spread *widest = spreads;
    for (int i = 1; i < n_spreads; i++)
        widest = spreads[i].call[unpack] > widest->call[unpack] ? &spreads[i] : widest;
    return widest;
}

int pack_end(void *table, int status)
{
    struct bench_sheet *sheet = table;
    int extrapolated = 0;
    bench_report_clear(&sheet->report);
    if (n_spreads > 0)
        printf("# widest: pack %.3f (%s), unpack %.3f (%s)\n", spread_widest(0)->call[0], spread_widest(0)->layout,
               spread_widest(1)->call[1], spread_widest(1)->layout);
    for (int i = 0; i < sheet->lines; i++) {
        for (int way = 0; way < sheet->columns->n_ways; way++)
            extrapolated |= sheet->line[i].time[way][0].extrapolated;
    }
    if (extrapolated)
        puts("# ~ calculated from the first 4096 blocks: all of them would have taken longer than a second");
    fflush(stdout);
    if (status != 0 || sheet->lines > 0 || !sheet->report.right)
        return 0;
    fputs("tutti: no layout has the descriptions that were chosen\n", stderr);
    return 1;
}

#ifdef TUTTI_JANSSON
static void pack_json(const struct bench_sheet *sheet, struct json_t *all)
{
    json_t *out = json_array();
    (void)sheet;
    for (int i = 0; i < n_spreads; i++)
        json_array_append_new(out, json_pack("{s:o, s:f, s:f}", "layout", bench_json_text(spreads[i].layout), "pack",
                                             spreads[i].call[0], "unpack", spreads[i].call[1]));
    json_object_set_new(all, "spreads", out);
}
#endif

static char *pack_title(void)
{
    return tool_print("MPI_Pack, MPI_Unpack, layouts: %s", pack_kind_name(pack_options.kind));
}

static char *commit_title(void)
{
    return tool_print("MPI_Type_commit, layouts: %s", pack_kind_name(pack_options.kind));
}

static void pack_about(const struct bench_sheet *sheet)
{
    (void)sheet;
    if (pack_options.kind == PACK_ARTICLE)
        printf("# %zu bytes out of a cube of %zu^3: bytes of a row / rows / planes\n",
               pack_options.cube * pack_options.cube, pack_options.cube);
}

static void commit_about(const struct bench_sheet *sheet)
{
    (void)sheet;
    puts(
        "# all: making, committing and freeing a type; plain, plain_all: by the MPI alone, plain_all in units of all;\n"
        "# first: what a type's first MPI_Pack takes longer than its second one");
}

static int commit_base(int way)
{
    return way == COMMIT_PLAIN_ALL ? COMMIT_ALL : COMMIT_TUTTI;
}

static const char *pack_choice(int i, const char **text)
{
    *text = pack_kind_name(pack_options.kind);
    return i == 0 ? "layouts" : NULL;
}

/* clang-format off */
#define PACK_FIELD_LAYOUT      {.key = "layout", .title = "# Layout", .width = -19, .text = 1, .word = "layout"}
#define PACK_FIELD_DESCRIPTION {.key = "description", .title = "Description", .width = -13, .text = 1}
#define PACK_FIELD_BYTES       {.key = "bytes", .title = "Bytes", .width = 10}
#define PACK_FIELD_BLOCKS      {.key = "block_count", .title = "Blocks", .width = 9}
#define PACK_FIELD_SECTORS     {.key = "sector_bytes"}
/* clang-format on */
static const struct bench_field pack_fields[] = {
    [PACK_AT_LAYOUT] = PACK_FIELD_LAYOUT,
    [PACK_AT_DESCRIPTION] = PACK_FIELD_DESCRIPTION,
    [PACK_AT_CALL] = {.key = "call", .title = "Call", .width = -6, .text = 1},
    [PACK_AT_BYTES] = PACK_FIELD_BYTES,
    [PACK_AT_BLOCKS] = PACK_FIELD_BLOCKS,
    [PACK_AT_SECTORS] = PACK_FIELD_SECTORS,
    [PACK_AT_HOW] = {.key = "algorithm", .title = "Algorithm", .width = -14, .text = 1, .own = 1, .word = "how"},
    {.key = NULL}};
static const struct bench_field commit_fields[] = {PACK_FIELD_LAYOUT, PACK_FIELD_DESCRIPTION, PACK_FIELD_BYTES,
                                                   PACK_FIELD_BLOCKS, PACK_FIELD_SECTORS,     {.key = NULL}};

const struct bench_columns pack_columns = {
    .ways = pack_ways,
    .n_ways = PACK_WAYS,
    .fields = pack_fields,
    .size = PACK_AT_BYTES,
    .times = SHEET_MEDIAN | SHEET_MIN | SHEET_MAX | SHEET_ITERATIONS,
    .title = pack_title,
    .members = "rank",
    .about = pack_about,
    .choice = pack_choice,
    .record = pack_record,
    .json = BENCH_JSON(pack_json),
    .plot = pack_plot_write,
};

const struct bench_columns commit_columns = {
    .ways = commit_ways,
    .n_ways = COMMIT_WAYS,
    .fields = commit_fields,
    .size = 2,
    .times = SHEET_MEDIAN | SHEET_ITERATIONS,
    .base = commit_base,
    .title = commit_title,
    .members = "rank",
    .about = commit_about,
    .choice = pack_choice,
    .plot = pack_plot_write,
};
