/* tutti bench shmem: options, and the run. */
#include "tools/bench/shmem.h"

#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "tutti/tutti.h"

enum { KEY_FIGURES = BENCH_KEY_OWN, KEY_WAYS };

static struct shmem_options {
    struct bench_options bench;
    unsigned figures, ways; /* masks */
    int usual;              /* 1: each figure has its own sizes */
} options;
static struct bench_sheet sheet = {.columns = &shmem_columns, .options = &options.bench, .name = BENCH_DOES_SHMEM};

static const struct argp_option shmem_own[] = {
    {"ranks", 'n', "PES", 0, "Number of PEs (2)", 1},
    {"figures", KEY_FIGURES, "LIST", 0, "With commas, of the list below; all (default)", 2},
    {"message-size", 'm', "SIZES", 0,
     "Bytes of a message, or of a PE's part: MIN:MAX, doubling, or a list; without it each figure has its own", 2},
    {"ways", KEY_WAYS, "LIST", 0, "With commas, of the list below; all (default)", 2},
    {"iterations", 'i', "N", 0, "Launches of a kernel at one size, at most 64 (5)", 3},
    {"seconds", BENCH_KEY_SECONDS, "S", 0, "As many rounds in a launch as take about this (0.01), from 5 to 5000", 3},
    {"plot", BENCH_KEY_PLOT, "FILE.png", 0, "Plot them (with gnuplot), a field for each figure", 4},
    {.name = NULL},
};

static int shmem_take(int key, char *argument)
{
    struct shmem_options *o = &options;
    switch (key) {
    case 'n':
        o->bench.ranks = (int)tool_number("-n", argument, 1, 64);
        break;
    case KEY_FIGURES:
        o->figures = bench_some_of("--figures", argument, shmem_figures, GAS_FIGURES);
        break;
    case KEY_WAYS:
        o->ways = bench_some_of("--ways", argument, shmem_ways, GAS_WAYS);
        break;
    default:
        return 0;
    }
    return 1;
}

/* The lists of figures and ways, behind the options. */
static char *shmem_explain(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC || !text)
        return (char *)text;
    char *all = tool_print("%s\n\nFigures:\n", text);
    for (int figure = 0; figure < GAS_FIGURES; figure++) {
        char *more = tool_print("%s  %-10s %s\n", all, shmem_figures[figure], shmem_texts[figure]);
        free(all);
        all = more;
    }
    static const char *const texts[GAS_WAYS] = {
#define GAS_WAY(id, name, text) text,
#include "bench/words/gas_ways.def"
#undef GAS_WAY
    };
    char *ways = tool_print("%s\nWays:\n", all);
    free(all);
    for (int way = 0; way < GAS_WAYS; way++) {
        char *more = tool_print("%s  %-10s %s\n", ways, shmem_ways[way], texts[way]);
        free(ways);
        ways = more;
    }
    return ways;
}

static const char shmem_doc[] =
    "Measures the global address space inside kernels: each PE is a process, with its own GPU if there are "
    "enough; also in the order of a stream; the figures of two papers; beside NVSHMEM where the build has "
    "found it.\v"
    "A time is that of one round of a launch, of the PE that takes longest, by the GPU's clock past the first "
    "fifth of the rounds; medians over launches in microseconds. Of graph and stream it is that of one of many "
    "calls "
    "between two marks in the stream, over 9 rounds. The other ways show, behind their median (x), "
    "how many times Tutti's that is. Data is random and new for each launch, and all of it is checked after "
    "each. Put and get are made by PE 0 alone. NVSHMEM reduces by one block of 1024 threads. The exit status is "
    "1 if a result is wrong, 2 if an option or a setting is.";

/* All sizes that one of the figures has. */
static void take_usual(struct shmem_options *out)
{
    static const size_t usual[GAS_FIGURES][GAS_USUAL] = {
#define GAS_FIGURE(id, name, text, rate, ...) {__VA_ARGS__},
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
    };
    struct bench_options *o = &out->bench;
    for (int figure = 0; figure < GAS_FIGURES; figure++) {
        for (int i = 0; out->figures >> figure & 1 && i < GAS_USUAL && usual[figure][i] > 0; i++) {
            int at = 0;
            while (at < o->n_sizes && o->sizes[at] < usual[figure][i])
                at++;
            if (at < o->n_sizes && o->sizes[at] == usual[figure][i])
                continue;
            memmove(&o->sizes[at + 1], &o->sizes[at], (size_t)(o->n_sizes++ - at) * sizeof *o->sizes);
            o->sizes[at] = usual[figure][i];
        }
    }
}

static void shmem_begin(const struct bench *bench)
{
    (void)bench;
    options.figures = options.ways = ~0u;
    options.bench.seconds = 0.01;
}

void shmem_take_figure(int figure, unsigned ways)
{
    options.figures = 1u << figure;
    options.ways = ways;
}

static void shmem_check(void)
{
    const struct bench_options *b = &options.bench;
    if (b->iterations > 64)
        tool_refuse("-i %ld: at most 64 launches", b->iterations);
    for (int i = 0; i < b->n_sizes; i++) {
        if (b->sizes[i] % 8 != 0 || b->sizes[i] > 1u << 30)
            tool_refuse("-m: %zu bytes are not a multiple of 8, or more than 1g", b->sizes[i]);
    }
    options.usual = b->n_sizes == 0;
    if (options.usual)
        take_usual(&options);
}

/* The contents of the heap: bench/shmem/shmem.c. */
static void set_heap(const struct bench_options *o)
{
    size_t most = 1 << 12;
    for (int i = 0; i < o->n_sizes; i++)
        most = o->sizes[i] > most ? o->sizes[i] : most;
    char *text = tool_print("%zu", ((4 * (size_t)o->ranks + 8) * most >> 20) + 16);
    setenv("TUTTI_SHMEM_HEAP_MB", text, 0);
    free(text);
}

/* Kernels of a GPU are a library of their own, which a build without nvcc lacks. */
static void check_kernels(unsigned figures)
{
    if (tutti_device()->simulates || !(figures & ~(unsigned)GAS_IN_STREAMS))
        return;
    char *path = tool_installed_helper("tutti-bench-shmem-cuda.so");
    if (!path)
        tool_refuse(
            "tutti bench shmem on a GPU needs tutti-bench-shmem-cuda.so, which is not in this build: it is made "
            "where nvcc is, by the target tutti-bench-kernels. --device host needs no GPU");
    free(path);
}

static void shmem_prepare(void)
{
    check_kernels(options.figures);
    set_heap(&options.bench);
    setenv("CUDA_MODULE_LOADING", "EAGER", 0); /* loading a kernel late would wait for kernels that wait for it */
}

static void shmem_tell(struct tool_words *words)
{
    bench_word_add(words, "ways", options.ways);
    bench_word_add(words, "figures", options.figures);
    bench_word_add(words, "usual", (unsigned)options.usual);
}

const struct bench bench_shmem = {
    .name = BENCH_DOES_SHMEM,
    .text = "the global address space inside kernels: the figures of two papers, beside NVSHMEM",
    .does = BENCH_DOES_SHMEM,
    .spec = {.without = "warmup", .own = shmem_own, .take = shmem_take, .doc = shmem_doc, .explain = shmem_explain},
    .options = &options.bench,
    .sheet = &sheet,
    .begin = shmem_begin,
    .check = shmem_check,
    .prepare = shmem_prepare,
    .tell = shmem_tell,
};
