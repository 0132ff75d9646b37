/* The options that benchmarks share, and the arguments of their ranks. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/bench.h"

static const struct argp_option shared[] = {
    {"ranks", 'n', "RANKS", 0, "Number of ranks (2)", 1},
    {"np", 0, "RANKS", OPTION_ALIAS | OPTION_HIDDEN, NULL, 1},
    {"mpi", BENCH_KEY_MPI, "MPI", 0,
     "MPI to use: openmpi, mpich, impi, a launcher, or the folder an MPI is installed in. Without it Open MPI, then "
     "MPICH, then Intel MPI",
     1},
    {"device", BENCH_KEY_DEVICE, "DEVICE", 0, "auto, cuda or host: sets TUTTI_DEVICE", 1},
    {"node-ranks", BENCH_KEY_NODE_RANKS, "N", 0,
     "Splits the ranks of a machine into virtual nodes of N ranks: sets TUTTI_NODE_RANKS", 1},
    {"mpi-args", BENCH_KEY_ARGUMENTS, "OPTIONS", 0, "More options for the launcher, in one word", 1},
    {"timeout", BENCH_KEY_TIMEOUT, "SECONDS", 0, "End it where the ranks print nothing for this long (600)", 1},
    {"message-size", 'm', "SIZES", 0, "Bytes of the message: MIN:MAX, doubling, or a list", 2},
    {"iterations", 'i', "N", 0, "Timed calls at one size (1000 to 8k, 20 from 32m, otherwise 100)", 3},
    {"warmup", 'x', "N", 0, "Calls before them (100, 3, 10)", 3},
    {"seconds", BENCH_KEY_SECONDS, "S", 0, "Fewer calls where one way at one size would take longer than about this",
     3},
    {"seed", BENCH_KEY_SEED, "N", 0, "Seed of the data", 3},
    {"no-validation", BENCH_KEY_NO_CHECK, NULL, 0, "Do not check results", 3},
    {"json", BENCH_KEY_JSON, "FILE", 0, "Write the results as JSON too", 4},
    {"plot", BENCH_KEY_PLOT, "FILE.png", 0, "Plot them (with gnuplot)", 4},
};
enum { SHARED = sizeof shared / sizeof shared[0], OPTIONS = 64 };

/* 1 if `name` is one of the words of `list`. */
static int is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)) != NULL; at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return 1;
    }
    return 0;
}

static int has_own(const struct bench_spec *spec, int key)
{
    for (const struct argp_option *own = spec->own; own && own->name; own++) {
        if (own->key == key)
            return 1;
    }
    return 0;
}

/* The shared options of the benchmark and its own, for argp; seconds: the default of --seconds. */
static void fill_options(const struct bench_spec *spec, double seconds, struct argp_option out[OPTIONS])
{
    int n = 0;
    for (const struct argp_option *own = spec->own; own && own->name && n < OPTIONS - SHARED - 1; own++) {
        out[n++] = *own;
        if (own->key == 'n')
            out[n++] = shared[1];
    }
    for (int i = 0; i < SHARED; i++) {
        const int owner = shared[i].flags & OPTION_ALIAS ? i - 1 : i;
        if (!has_own(spec, shared[owner].key) && !is_listed(spec->without, shared[owner].name))
            out[n++] = shared[i];
        if (out[n - 1].key == BENCH_KEY_SECONDS && seconds > 0 && out[n - 1].doc == shared[owner].doc)
            out[n - 1].doc = tool_print("%s (%g)", shared[owner].doc, seconds);
    }
    out[n] = (struct argp_option){.name = NULL};
}

/* 1 if the option is a shared one and was accepted. Ends the program if its value is invalid. */
static int take_shared(int key, char *argument, struct bench_options *options)
{
    char *end;
    switch (key) {
    case 'n':
        options->ranks = (int)tool_number("-n", argument, 1, 65536);
        break;
    case BENCH_KEY_MPI:
        options->mpi = argument;
        break;
    case BENCH_KEY_DEVICE:
        tool_device(argument);
        break;
    case BENCH_KEY_NODE_RANKS:
        (void)tool_number("--node-ranks", argument, 0, 4096);
        setenv("TUTTI_NODE_RANKS", argument, 1);
        break;
    case BENCH_KEY_ARGUMENTS:
        options->arguments = argument;
        break;
    case BENCH_KEY_TIMEOUT:
        options->timeout = (int)tool_number("--timeout", argument, 1, 86400);
        break;
    case 'm':
        bench_sizes_read(argument, options);
        break;
    case 'i':
        options->iterations = tool_number("-i", argument, 1, 1000000000);
        break;
    case 'x':
        options->warm_up = tool_number("-x", argument, 0, 1000000000);
        break;
    case BENCH_KEY_SECONDS:
        options->seconds = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(options->seconds > 0 && options->seconds <= 3600))
            tool_refuse("--seconds %s is not valid: a number above 0, at most 3600, is", argument);
        break;
    case BENCH_KEY_SEED:
        options->seed = (uint64_t)tool_number("--seed", argument, 1, LONG_MAX);
        break;
    case BENCH_KEY_NO_CHECK:
        options->check = 0;
        break;
    case BENCH_KEY_JSON:
        options->json = argument;
        break;
    case BENCH_KEY_PLOT:
        options->plot = argument;
        break;
    default:
        return 0;
    }
    return 1;
}

/* The parser's state. */
struct reading {
    const struct bench_spec *spec;
    struct bench_options *options;
};

static error_t options_parse(int key, char *argument, struct argp_state *state)
{
    const struct reading *reading = state->input;
    if ((reading->spec->take && reading->spec->take(key, argument)) || take_shared(key, argument, reading->options))
        return 0;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    const int tune = strcmp(state->name, "tutti tune") == 0;
    tool_refuse("%s: '%s' is not understood: options alone may follow", tune ? "tune" : "bench", argument);
}

struct bench_options bench_options_usual(void)
{
    struct bench_options usual = {.ranks = 2, .warm_up = -1, .check = 1, .timeout = 600, .ways = ~0u, .limit = -1};
    usual.seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    return usual;
}

void bench_options_read(const struct bench_spec *spec, struct bench_options *options, int argc, char **argv)
{
    struct argp_option all[OPTIONS];
    struct reading reading = {spec, options};
    const struct argp argp = {.options = all, .parser = options_parse, .doc = spec->doc, .help_filter = spec->explain};
    fill_options(spec, options->seconds, all);
    tool_check_options(all, argc, argv, 0);
    argp_parse(&argp, argc, argv, 0, NULL, &reading);
}

void bench_word_add(struct tool_words *words, const char *name, long long value)
{
    tool_words_take(words, tool_print("%s=%lld", name, value));
}

/* "sizes=8,64" */
static void add_sizes(struct tool_words *words, const struct bench_options *o)
{
    char *all = tool_alloc((size_t)o->n_sizes * 24 + 8), *at = all;
    at += sprintf(at, "sizes=");
    for (int i = 0; i < o->n_sizes; i++)
        at += sprintf(at, "%s%zu", i ? "," : "", o->sizes[i]);
    tool_words_take(words, all);
}

void bench_words_begin(struct tool_words *words, const char *benchmark, const struct bench_options *options)
{
    tool_words_add(words, benchmark);
    add_sizes(words, options);
    tool_words_take(words, tool_print("seconds=%g", options->seconds));
    bench_word_add(words, "iterations", options->iterations);
    bench_word_add(words, "warm_up", options->warm_up);
    bench_word_add(words, "check", options->check);
    bench_word_add(words, "seed", (long long)options->seed);
    tool_words_take(words, tool_print("energy=%d:%g:%ld:%u", options->trials, options->window, options->updates,
                                      options->variants));
}
