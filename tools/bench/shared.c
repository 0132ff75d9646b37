/* The options that all benchmarks have, and how their ranks are told. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/bench.h"

int bench_shared_option(int key, char *argument, struct bench_options *options)
{
    char *end;
    switch (key) {
    case BENCH_KEY_MPI:
        options->mpi = argument;
        break;
    case BENCH_KEY_DEVICE:
        tool_device(argument);
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
}
