/* tutti bench partitioned: options, columns, and the run. */
#include <stdlib.h>
#include <string.h>

#include "bench/words/part.h"
#include "device/device.h"
#include "tools/bench/sheet.h"

enum { KEY_FIGURES = BENCH_KEY_OWN, KEY_WAYS, KEY_PARTITIONS };

static struct {
    struct bench_options bench;
    unsigned figures, ways; /* masks */
    int counts[PART_COUNTS], n_counts;
} options;

static const char *const ways[PART_WAYS] = {
#define PART_WAY(id, name, text) name,
#include "bench/words/part_ways.def"
#undef PART_WAY
};
static const char *const way_texts[PART_WAYS] = {
#define PART_WAY(id, name, text) text,
#include "bench/words/part_ways.def"
#undef PART_WAY
};
static const char *const figures[PART_FIGURES] = {
#define PART_FIGURE(id, name, text, goodput) name,
#include "bench/words/part_figures.def"
#undef PART_FIGURE
};
static const char *const figure_texts[PART_FIGURES] = {
#define PART_FIGURE(id, name, text, goodput) text,
#include "bench/words/part_figures.def"
#undef PART_FIGURE
};
static const int goodputs[PART_FIGURES] = {
#define PART_FIGURE(id, name, text, goodput) goodput,
#include "bench/words/part_figures.def"
#undef PART_FIGURE
};

/* ---- options ---- */

static const struct argp_option part_own[] = {
    {"ranks", 'n', "N", 0, "Number of ranks (2); messages are between ranks 0 and 1", 1},
    {"figures", KEY_FIGURES, "LIST", 0, "With commas, of the list below; all (default)", 2},
    {"message-size", 'm', "SIZES", 0,
     "Bytes of a message or of a contribution: MIN:MAX, doubling, or a list (8,1k,64k,1m,16m)", 2},
    {"partitions", KEY_PARTITIONS, "LIST", 0,
     "Numbers of transport partitions, with commas, up to 8 of them from 1 to 1024 (1,4,16,64)", 2},
    {"ways", KEY_WAYS, "LIST", 0, "With commas, of the list below; all (default)", 2},
    {.name = NULL},
};

static void part_counts_read(const char *text)
{
    char *copy = tool_print("%s", text), *rest = copy, *word;
    options.n_counts = 0;
    while ((word = strsep(&rest, ",")) != NULL) {
        if (options.n_counts == PART_COUNTS)
            tool_refuse("--partitions %s: more than %d numbers", text, PART_COUNTS);
        options.counts[options.n_counts++] = (int)tool_number("--partitions", word, 1, PART_MOST);
    }
    free(copy);
}

static int part_take(int key, char *argument)
{
    switch (key) {
    case 'n':
        options.bench.ranks = (int)tool_number("-n", argument, 2, 1024);
        break;
    case KEY_FIGURES:
        options.figures = bench_some_of("--figures", argument, figures, PART_FIGURES);
        break;
    case KEY_PARTITIONS:
        part_counts_read(argument);
        break;
    case KEY_WAYS:
        options.ways = bench_some_of("--ways", argument, ways, PART_WAYS);
        break;
    default:
        return 0;
    }
    return 1;
}

static char *part_list(char *text, const char *title, const char *const names[], const char *const texts[], int n)
{
    char *all = tool_print("%s\n%s:\n", text, title);
    free(text);
    for (int i = 0; i < n; i++) {
        char *more = tool_print("%s  %-10s %s\n", all, names[i], texts[i]);
        free(all);
        all = more;
    }
    return all;
}

/* The lists of figures and ways, behind the options. */
static char *part_explain(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC || !text)
        return (char *)text;
    char *all = part_list(tool_print("%s\n", text), "Figures", figures, figure_texts, PART_FIGURES);
    return part_list(all, "Ways", ways, way_texts, PART_WAYS);
}

static const char part_doc[] =
    "Measures partitioned communication that kernels start, and in the same run the other ways to communicate "
    "what a kernel has made.\v"
    "A time is that of one call after a barrier, of the rank that takes longest: start and preparation of requests, "
    "launch of the kernel, its work, and the communication until it is complete. Prepared is the same without "
    "start and preparation. Medians are in microseconds; GB/s are 10^9 bytes of the message, or of one rank's "
    "contribution, a second: the goodput. Ways take turns.\n\n"
    "Each call has new random data, which the kernel makes. The last two calls of every way are compared word by "
    "word. The exit status is 1 if a result is wrong, 2 if an option or a setting is.";

/* ---- columns ---- */

enum { FIELD_FIGURE, FIELD_CALL, FIELD_PARTITIONS, FIELD_BYTES };
static const struct bench_field fields[] = {
    [FIELD_FIGURE] = {.key = "figure", .title = "# Figure", .width = -10, .text = 1},
    [FIELD_CALL] = {.key = "call", .title = "Call", .width = -25, .text = 1},
    [FIELD_PARTITIONS] = {.key = "partitions", .title = "Parts", .width = 5},
    [FIELD_BYTES] = {.key = "bytes", .title = "Bytes", .width = 10},
    {.key = NULL}};

static int part_figure(const struct bench_line *line)
{
    int figure = 0;
    while (figure < PART_FIGURES - 1 && strcmp(line->text[FIELD_FIGURE], figures[figure]) != 0)
        figure++;
    return figure;
}

static double part_goodput(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    return bench_sheet_gb(sheet, line, way, PART_WHOLE, 1);
}

static double part_prepared(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    const struct bench_time *time = line->time[way];
    (void)sheet;
    return time[PART_PREPARED].known ? time[PART_PREPARED].median : time[PART_WHOLE].median;
}

static int part_shows(const struct bench_line *line, int i)
{
    (void)i;
    return goodputs[part_figure(line)];
}

static char *part_title(void)
{
    return tool_print("partitioned communication");
}

static const char *part_section(const struct bench_line *line)
{
    return figure_texts[part_figure(line)];
}

static const struct bench_shown shown[] = {{.title = "GB/s", .key = "gb_per_s", .of = part_goodput},
                                           {.title = "Prepared", .key = "prepared_median_us", .of = part_prepared},
                                           {.title = NULL}};
static const char *const parts[] = {"prepared_us", NULL};
static int part_plot_write(const void *written);
static const struct bench_columns columns = {
    .ways = ways,
    .n_ways = PART_WAYS,
    .fields = fields,
    .size = FIELD_BYTES,
    .times = SHEET_MEDIAN | SHEET_MIN | SHEET_ITERATIONS,
    .shown = shown,
    .shows = part_shows,
    .parts = parts,
    .title = part_title,
    .section = part_section,
    .plot = part_plot_write,
};
static struct bench_sheet sheet = {.columns = &columns, .options = &options.bench, .name = BENCH_DOES_PARTITIONED};

/* ---- plot: a field for each figure with goodput and number of partitions, a line for each way ---- */

static int same_series(const struct bench_line *a, const struct bench_line *b)
{
    return strcmp(a->text[FIELD_FIGURE], b->text[FIELD_FIGURE]) == 0 &&
           a->number[FIELD_PARTITIONS] == b->number[FIELD_PARTITIONS];
}

/* 1 if no line before has its series. */
static int begins_series(const struct bench_sheet *t, int i)
{
    int k = 0;
    while (!same_series(&t->line[k], &t->line[i]))
        k++;
    return k == i && goodputs[part_figure(&t->line[i])];
}

static void write_data(FILE *to, const void *table)
{
    const struct bench_sheet *t = table;
    for (int from = 0; from < t->lines; from++) {
        const struct bench_line *first = &t->line[from];
        if (!begins_series(t, from))
            continue;
        fprintf(to, "# %s, %lld partitions: bytes", first->text[FIELD_FIGURE], first->number[FIELD_PARTITIONS]);
        for (int way = 0; way < PART_WAYS; way++)
            fprintf(to, " %s", ways[way]);
        fputc('\n', to);
        for (int i = from; i < t->lines; i++) {
            if (!same_series(first, &t->line[i]))
                continue;
            fprintf(to, "%lld", t->line[i].number[FIELD_BYTES]);
            for (int way = 0; way < PART_WAYS; way++) {
                if (t->line[i].time[way][0].known)
                    fprintf(to, " %.6f", part_goodput(t, &t->line[i], way));
                else
                    fputs(" -", to);
            }
            fputc('\n', to);
        }
        fputs("\n\n", to);
    }
}

static void write_field(FILE *to, const struct bench_sheet *t, int from, int index)
{
    int lines = 0;
    fprintf(to, "set title '%s, %lld partitions' noenhanced\nplot ", t->line[from].text[FIELD_FIGURE],
            t->line[from].number[FIELD_PARTITIONS]);
    for (int way = 0; way < PART_WAYS; way++) {
        if (t->line[from].time[way][0].known)
            fprintf(to, "%s$data index %d using 1:%d with linespoints linetype %d title '%s' noenhanced",
                    lines++ ? ", " : "", index, way + 2, way + 1, ways[way]);
    }
    fputc('\n', to);
}

static void write_script(FILE *to, const void *table)
{
    const struct bench_sheet *t = table;
    int fields_plotted = 0, index = 0;
    for (int i = 0; i < t->lines; i++)
        fields_plotted += begins_series(t, i);
    const int wide = fields_plotted > 1 ? 2 : 1, high = (fields_plotted + wide - 1) / wide;
    fprintf(to, "set terminal pngcairo size %d,%d\nset output \"", 1000 * wide, 600 * high);
    bench_plot_text(to, t->options->plot, 0);
    fputs("\"\n$data << END_OF_DATA\n", to);
    write_data(to, t);
    fprintf(to,
            "END_OF_DATA\nset datafile missing '-'\nset logscale x 2\nset logscale y 10\nset format x '%%.0b%%B'\n"
            "set xlabel 'bytes'\nset ylabel 'GB/s'\nset key outside right\nset grid\n"
            "set multiplot layout %d,%d title 'Partitioned communication, %d ranks, %s device'\n",
            high, wide, t->options->ranks, t->report.device);
    for (int i = 0; i < t->lines; i++) {
        if (begins_series(t, i))
            write_field(to, t, i, index++);
    }
    fputs("unset multiplot\n", to);
}

static int part_plot_write(const void *written)
{
    const struct bench_sheet *t = written;
    int any = 0;
    for (int i = 0; i < t->lines; i++)
        any |= begins_series(t, i);
    return any ? bench_gnuplot(t->options->plot, write_script, write_data, t) : 0;
}

/* ---- the benchmark ---- */

static void part_begin(const struct bench *bench)
{
    (void)bench;
    options.figures = options.ways = ~0u;
    options.bench.seconds = 0.05;
    part_counts_read("1,4,16,64");
}

static void part_check(void)
{
    struct bench_options *b = &options.bench;
    if (b->n_sizes == 0)
        bench_sizes_read("8,1k,64k,1m,16m", b);
    for (int i = 0; i < b->n_sizes; i++) {
        if (b->sizes[i] % 4 != 0 || b->sizes[i] > 1u << 30)
            tool_refuse("-m: %zu bytes are not a multiple of 4, or more than 1g", b->sizes[i]);
    }
}

/* Kernels of a GPU are a library of their own, which a build without nvcc lacks. */
static void part_make_ready(void)
{
    if (tutti_device()->simulates) {
        setenv("TUTTI_HOST_STRICT", "0", 1); /* the kernels are functions of the program */
    } else {
        char *path = tool_installed_helper("tutti-bench-partitioned-cuda.so");
        if (!path)
            tool_refuse("tutti bench partitioned on a GPU needs tutti-bench-partitioned-cuda.so, which is not in this "
                        "build: it is made where nvcc is, by the target tutti-bench-kernels. --device host needs no "
                        "GPU");
        free(path);
    }
    setenv("CUDA_MODULE_LOADING", "EAGER", 0); /* loading a kernel late would wait for kernels that wait for it */
}

static void part_tell(struct tool_words *words)
{
    char *list = tool_print("partitions=%d", options.counts[0]);
    for (int i = 1; i < options.n_counts; i++) {
        char *more = tool_print("%s,%d", list, options.counts[i]);
        free(list);
        list = more;
    }
    bench_word_add(words, "ways", options.ways);
    bench_word_add(words, "figures", options.figures);
    tool_words_take(words, list);
}

const struct bench bench_partitioned = {
    .name = BENCH_DOES_PARTITIONED,
    .text = "what kernels send and reduce by partitioned calls, beside other ways",
    .does = BENCH_DOES_PARTITIONED,
    .spec = {.own = part_own, .take = part_take, .doc = part_doc, .explain = part_explain},
    .options = &options.bench,
    .sheet = &sheet,
    .begin = part_begin,
    .check = part_check,
    .prepare = part_make_ready,
    .tell = part_tell,
};
