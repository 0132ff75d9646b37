/* The columns of tutti bench shmem: a section for each figure. */
#include <string.h>

#include "tools/bench/shmem.h"

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
static const enum gas_rate rates[GAS_FIGURES] = {
#define GAS_FIGURE(id, name, text, rate, ...) rate,
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
};

int shmem_figure(const struct bench_line *line)
{
    int figure = 0;
    while (figure < GAS_FIGURES - 1 && strcmp(line->text[SHMEM_FIGURE], shmem_figures[figure]) != 0)
        figure++;
    return figure;
}

enum gas_rate shmem_rate(const struct bench_line *line)
{
    return rates[shmem_figure(line)];
}

static double shmem_bytes(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    return bench_sheet_gb(sheet, line, way, 0, 1);
}

/* Each thread makes one request a round. */
static double shmem_requests(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    const double us = line->time[way][0].median;
    (void)sheet;
    return us > 0 ? (double)(line->number[SHMEM_BLOCKS] * line->number[SHMEM_THREADS]) / us : 0;
}

static char *shmem_title(void)
{
    return tool_print("global address space in kernels");
}

static const char *shmem_section(const struct bench_line *line)
{
    return shmem_texts[shmem_figure(line)];
}

static const struct bench_field fields[] = {
    [SHMEM_FIGURE] = {.key = "figure", .title = "# Figure", .width = -10, .text = 1},
    [SHMEM_CALL] = {.key = "call", .title = "Call", .width = -10, .text = 1},
    [SHMEM_TO] = {.key = "to", .title = "To", .width = -5, .text = 1},
    [SHMEM_BLOCKS] = {.key = "blocks", .title = "Blocks", .width = 7, .positive = 1},
    [SHMEM_THREADS] = {.key = "threads", .title = "Threads", .width = 8, .positive = 1},
    [SHMEM_PES] = {.key = "pes", .title = "PEs", .width = 4},
    [SHMEM_BYTES] = {.key = "bytes", .title = "Bytes", .width = 10},
    {.key = NULL}};
static const struct bench_shown shown[] = {{.title = "GB/s", .key = "gb_per_s", .of = shmem_bytes},
                                           {.title = "M/s", .key = "requests_per_us", .of = shmem_requests},
                                           {.title = NULL}};

static int shmem_shows(const struct bench_line *line, int i)
{
    return shmem_rate(line) == (i == 0 ? GAS_RATE_BYTES : GAS_RATE_REQUESTS);
}

const struct bench_columns shmem_columns = {
    .ways = shmem_ways,
    .n_ways = GAS_WAYS,
    .fields = fields,
    .size = SHMEM_BYTES,
    .times = SHEET_MEDIAN | SHEET_MIN | SHEET_MAX,
    .shown = shown,
    .shows = shmem_shows,
    .title = shmem_title,
    .section = shmem_section,
    .members = "PEs",
    .checked = "after each launch",
    .plot = shmem_plot_write,
};
