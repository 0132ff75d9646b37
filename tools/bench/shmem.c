/* tutti bench shmem: options, and the run. */
#include "tools/bench/shmem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/device.h"
#include "tutti/tutti.h"

enum { KEY_FIGURES = BENCH_KEY_OWN, KEY_WAYS };

static const struct argp_option options[] = {
    {"ranks", 'n', "PES", 0, "Number of PEs (2)", 1},
    {"mpi", BENCH_KEY_MPI, "MPI", 0,
     "MPI to use: openmpi, mpich, impi, a launcher, or the folder an MPI is installed in. Without it Open MPI, then "
     "MPICH, then Intel MPI",
     1},
    {"device", BENCH_KEY_DEVICE, "DEVICE", 0, "auto, cuda or host: sets TUTTI_DEVICE", 1},
    {"mpi-args", BENCH_KEY_ARGUMENTS, "OPTIONS", 0, "More options for the launcher, in one word", 1},
    {"timeout", BENCH_KEY_TIMEOUT, "SECONDS", 0, "End it where the PEs have not said a word for so long (600)", 1},
    {"figures", KEY_FIGURES, "LIST", 0, "With commas, of the list below; all (default)", 2},
    {"message-size", 'm', "SIZES", 0,
     "Bytes of a message, or of a PE's part: MIN:MAX, doubling, or a list; without it each figure has its own", 2},
    {"ways", KEY_WAYS, "LIST", 0, "With commas, of the list below; all (default)", 2},
    {"iterations", 'i', "N", 0, "Launches of a kernel at one size, at most 64 (5)", 3},
    {"seconds", BENCH_KEY_SECONDS, "S", 0, "As many rounds in a launch as take about this (0.01), from 5 to 5000", 3},
    {"seed", BENCH_KEY_SEED, "N", 0, "Seed of the data", 3},
    {"no-validation", BENCH_KEY_NO_CHECK, NULL, 0, "Do not check results", 3},
    {"json", BENCH_KEY_JSON, "FILE", 0, "Write the results as JSON too", 4},
    {"plot", BENCH_KEY_PLOT, "FILE.png", 0, "Plot them (with gnuplot), a field for each figure", 4},
    {.name = NULL},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct shmem_options *o = state->input;
    if (key != 'x' && bench_shared_option(key, argument, &o->bench))
        return 0;
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
    case ARGP_KEY_ARG:
        tool_refuse("bench: '%s' is not understood: options alone may follow", argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* The lists of figures and ways, behind the options. */
static char *explain(int key, const char *text, void *input)
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

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .help_filter = explain,
    .doc = "Measures the global address space inside kernels: each PE is a process, with a GPU of its own where there "
           "are enough; also in the order of a stream; the figures of two papers; beside NVSHMEM where the build has "
           "found it.\v"
           "A time is that of one round of a launch, of the PE that takes longest, by the GPU's clock past the first "
           "fifth of the rounds; medians over launches in microseconds. Of graph and stream it is that of one of many "
           "calls "
           "between two marks in the stream, over 9 rounds. The other ways show, behind their median (x), "
           "how many times Tutti's that is. Data is random and new for each launch, and all of it is checked after "
           "each. Put and get are made by PE 0 alone. NVSHMEM reduces by one block of 1024 threads. The exit status is "
           "1 where a result is wrong, 2 where an option or a setting is.",
};

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

static void read_options(int argc, char **argv, struct shmem_options *out)
{
    *out = (struct shmem_options){.figures = ~0u, .ways = ~0u};
    out->bench = (struct bench_options){.ranks = 2, .warm_up = -1, .check = 1, .timeout = 600, .seconds = 0.01};
    out->bench.seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    tool_check_options(options, argc, argv, 0);
    argp_parse(&argp, argc, argv, 0, NULL, out);
    if (out->bench.iterations > 64)
        tool_refuse("-i %ld: at most 64 launches", out->bench.iterations);
    for (int i = 0; i < out->bench.n_sizes; i++) {
        if (out->bench.sizes[i] % 8 != 0 || out->bench.sizes[i] > 1u << 30)
            tool_refuse("-m: %zu bytes are not a multiple of 8, or more than 1g", out->bench.sizes[i]);
    }
    out->usual = out->bench.n_sizes == 0;
    if (out->usual)
        take_usual(out);
    tool_check_settings();
    bench_check_device(&out->bench);
}

/* What lies in the heap: bench/shmem/shmem.c. */
static void set_heap(const struct bench_options *o)
{
    size_t most = 1 << 12;
    for (int i = 0; i < o->n_sizes; i++)
        most = o->sizes[i] > most ? o->sizes[i] : most;
    char *text = tool_print("%zu", ((4 * (size_t)o->ranks + 8) * most >> 20) + 16);
    setenv("TUTTI_SHMEM_HEAP_MB", text, 0);
    free(text);
}

/* Kernels of a GPU are a file of their own, which a build without nvcc has not. */
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

int bench_shmem(int argc, char **argv)
{
    struct shmem_options o;
    static struct bench_place place;
    static struct shmem_table table;
    read_options(argc, argv, &o);
    check_kernels(o.figures);
    bench_files_check(&o.bench);
    bench_place_find(&o.bench, &place);
    set_heap(&o.bench);
    setenv("CUDA_MODULE_LOADING", "EAGER", 0); /* a kernel that is loaded late would wait for those that wait for it */
    table.options = &o;
    table.report.place = &place;

    struct tool_words words = {.word = NULL};
    bench_words_begin(&words, BENCH_DOES_SHMEM, &o.bench);
    bench_word_add(&words, "ways", o.ways);
    bench_word_add(&words, "figures", o.figures);
    bench_word_add(&words, "usual", (unsigned)o.usual);
    int status = bench_start(&o.bench, &place, words.word, 1, shmem_table_record, &table);
    tool_words_free(&words);

    int failed = shmem_json_write(&table) | shmem_plot_write(&table);
    return bench_report_status(&table.report, status, failed);
}
