/* tutti bench overhead: pairs of runs of a host-only program, with the library in front and without. */

#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

enum { KEY_PAIRS = BENCH_KEY_OWN, KEY_LIMIT };

static struct bench_options options;

static const struct argp_option overhead_own[] = {
    {"iterations", 'i', "N", 0, "Calls of one run (1000000)", 2},
    {"warmup", 'x', "N", 0, "Calls before them (10000)", 2},
    {"pairs", KEY_PAIRS, "N", 0, "Pairs of runs, one with the library in front and one without (5)", 2},
    {"limit", KEY_LIMIT, "PERCENT", 0, "End with status 1 if it costs more", 2},
    {.name = NULL},
};

static int overhead_take(int key, char *argument)
{
    char *end;
    switch (key) {
    case KEY_PAIRS:
        options.pairs = (int)tool_number("--pairs", argument, 1, 1000);
        break;
    case KEY_LIMIT:
        options.limit = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(options.limit >= 0 && options.limit <= 1000))
            tool_refuse("--limit %s is not valid: a percentage from 0 to 1000 is", argument);
        break;
    default:
        return 0;
    }
    return 1;
}

struct run {
    double seconds;
    int preloaded;
};

static void text_take(void *with, char *text)
{
    struct run *run = with;
    sscanf(text, "overhead %lf %d", &run->seconds, &run->preloaded);
}

/* The exit status of the command on a failure. */
static int overhead_measure(const struct bench_options *o, const struct bench_place *place, int preload,
                            double *seconds)
{
    char iterations[48], warm_up[48], name[] = BENCH_DOES_OVERHEAD, *arguments[] = {name, iterations, warm_up, NULL};
    snprintf(iterations, sizeof iterations, "iterations=%ld", o->iterations);
    snprintf(warm_up, sizeof warm_up, "warm_up=%ld", o->warm_up);
    struct run run = {.preloaded = -1};
    int status = bench_start(o, place, arguments, preload, text_take, &run);
    if (status == 0 && run.preloaded != preload)
        fprintf(stderr, "tutti: the library was %s in front of the MPI\n", preload ? "not" : "still");
    *seconds = run.seconds;
    return status != 0 ? status : run.preloaded != preload || run.seconds <= 0;
}

static int double_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double values_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, double_ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void overhead_begin(const struct bench *bench)
{
    (void)bench;
    options.iterations = 1000000;
    options.warm_up = 10000;
    options.pairs = 5;
}

static int overhead_run(const struct bench_place *place)
{
    const struct bench_options *o = &options;
    printf("# Cost of the library to a host-only program: %ld MPI_Allreduce of 8 bytes, %d ranks, %s %s\n",
           o->iterations, o->ranks, tool_family_title(place->mpi->family), place->mpi->version);
    printf("%-6s %14s %14s %10s\n", "# Pair", "without, s", "with, s", "ratio");
    size_t n = (size_t)o->pairs;
    double *without = tool_alloc(n * sizeof *without), *with = tool_alloc(n * sizeof *with);
    double *ratios = tool_alloc(n * sizeof *ratios);
    for (int i = 0; i < o->pairs; i++) {
        /* The order of the two changes from pair to pair: drift affects both alike. */
        int first = i % 2;
        int status = overhead_measure(o, place, first, first ? &with[i] : &without[i]);
        if (status == 0)
            status = overhead_measure(o, place, !first, first ? &without[i] : &with[i]);
        if (status != 0)
            return status;
        ratios[i] = with[i] / without[i];
        printf("%-6d %14.4f %14.4f %10.4f\n", i + 1, without[i], with[i], ratios[i]);
        fflush(stdout);
    }
    double ratio = values_median(ratios, o->pairs);
    /* values_median() has sorted them */
    printf("# Median of the ratios: %.4f (%+.2f %%), from %.4f to %.4f\n", ratio, (ratio - 1) * 100, ratios[0],
           ratios[n - 1]);
    if (ratios[n - 1] - ratios[0] > 0.05)
        puts("# The pairs differ by more than 5 %: this machine was too busy to measure a few percent");
    int failed = bench_json_overhead(o, place, without, with, o->pairs, ratio);
    free(without);
    free(with);
    free(ratios);
    if (o->limit >= 0 && (ratio - 1) * 100 > o->limit) {
        fprintf(stderr, "tutti: the library costs more than %g %%\n", o->limit);
        failed = 1;
    }
    return failed;
}

const struct bench bench_overhead = {
    .name = BENCH_DOES_OVERHEAD,
    .text = "what the library costs a program that uses host memory alone",
    .spec =
        {.without = "device message-size seconds seed no-validation plot",
         .own = overhead_own,
         .take = overhead_take,
         .doc = "Measures what the library costs a program that never uses device memory: 8-byte MPI_Allreduce on host "
                "memory, with the library in front and without, in turn."},
    .options = &options,
    .begin = overhead_begin,
    .run = overhead_run,
};
