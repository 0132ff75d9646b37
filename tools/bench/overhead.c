/* tutti bench overhead and tutti bench host: pairs of runs of a host-only program, with the library in front and
 * without: many small calls that are timed as one, or calls of many kinds. */

#include <stdlib.h>
#include <string.h>

#include "bench/words/host.h"
#include "tools/bench/bench.h"

enum { KEY_PAIRS = BENCH_KEY_OWN, KEY_LIMIT, KEY_CALLS };

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

/* ---- tutti bench host ---- */

static struct bench_options host_options;
static unsigned host_groups; /* mask of enum host_group */
static int host_call;        /* the only call; negative: all of the groups */

static const struct argp_option host_own[] = {
    {"calls", KEY_CALLS, "LIST", 0,
     "Groups of calls, with commas: all, local, communicators, requests, messages, collectives, windows, files (all "
     "but the last two), or the name of one call",
     2},
    {"pairs", KEY_PAIRS, "N", 0, "Pairs of runs, one with the library in front and one without (3)", 2},
    {.name = NULL},
};

static const struct {
    const char *name;
    enum host_group group;
} calls[HOST_CALLS] = {
#define HOST_CALL(id, group, name) {name, HOST_##group},
#include "bench/words/host_calls.def"
#undef HOST_CALL
};
static const char *const groups[HOST_GROUPS] = {HOST_GROUP_NAMES};

static void take_calls(const char *text)
{
    const char *names[HOST_GROUPS + HOST_CALLS];
    for (int g = 0; g < HOST_GROUPS; g++)
        names[g] = groups[g];
    for (int c = 0; c < HOST_CALLS; c++)
        names[HOST_GROUPS + c] = calls[c].name;
    host_call = -1;
    if (strcmp(text, "all") == 0 || strchr(text, ',')) {
        host_groups = bench_some_of("--calls", text, groups, HOST_GROUPS);
        return;
    }
    const int found = tool_one_of("--calls", text, names, HOST_GROUPS + HOST_CALLS);
    host_groups = found < HOST_GROUPS ? 1u << found : 1u << calls[found - HOST_GROUPS].group;
    host_call = found - HOST_GROUPS;
}

static int host_take(int key, char *argument)
{
    switch (key) {
    case KEY_PAIRS:
        host_options.pairs = (int)tool_number("--pairs", argument, 1, 1000);
        break;
    case KEY_CALLS:
        take_calls(argument);
        break;
    default:
        return 0;
    }
    return 1;
}

/* The least microseconds of each call. */
static struct least {
    double us[2][HOST_CALLS]; /* by whether the library is in front; 0: not measured */
} least;
struct host_run {
    int preload, wrong; /* wrong: the library was not where it should be */
};

static void host_record(void *with, char *text)
{
    struct host_run *run = with;
    int call, preloaded;
    double us;
    if (sscanf(text, "host %d %lf %d", &call, &us, &preloaded) != 3 || call < 0 || call >= HOST_CALLS)
        return;
    run->wrong |= preloaded != run->preload;
    double *at = &least.us[run->preload][call];
    *at = *at == 0 || us < *at ? us : *at;
}

/* The exit status of the command on a failure. */
static int run_host(const struct bench_place *place, int preload)
{
    char seconds[48], mask[48], call[48], name[] = BENCH_DOES_HOST, *arguments[] = {name, seconds, mask, call, NULL};
    snprintf(seconds, sizeof seconds, "seconds=%g", host_options.seconds);
    snprintf(mask, sizeof mask, "groups=%u", host_groups);
    snprintf(call, sizeof call, "call=%d", host_call);
    struct host_run run = {.preload = preload};
    const int status = bench_start(&host_options, place, arguments, preload, host_record, &run);
    if (status == 0 && run.wrong)
        fprintf(stderr, "tutti: the library was %s in front of the MPI\n", preload ? "not" : "still");
    return status != 0 ? status : run.wrong;
}

static void host_begin(const struct bench *bench)
{
    (void)bench;
    host_options.pairs = 3;
    host_options.seconds = 0.02;
    host_groups = (1u << HOST_WINDOWS) - 1;
    host_call = -1;
}

static void print_host(const struct bench_place *place)
{
    printf("# Calls on host memory: %d ranks, %s %s, the least of %d runs each\n", host_options.ranks,
           tool_family_title(place->mpi->family), place->mpi->version, host_options.pairs);
    printf("%-22s %14s %14s %10s\n", "# Call", "without, us", "with, us", "ratio");
    for (int c = 0; c < HOST_CALLS; c++) {
        if (least.us[0][c] > 0 && least.us[1][c] > 0)
            printf("%-22s %14.4f %14.4f %10.2f\n", calls[c].name, least.us[0][c], least.us[1][c],
                   least.us[1][c] / least.us[0][c]);
    }
}

static int host_run(const struct bench_place *place)
{
    /* The order of the two changes from pair to pair: drift affects both alike. */
    for (int i = 0; i < 2 * host_options.pairs; i++) {
        const int status = run_host(place, (i + i / 2) % 2);
        if (status != 0)
            return status;
    }
    print_host(place);
    return 0;
}

const struct bench bench_host = {
    .name = BENCH_DOES_HOST,
    .text = "calls on host memory with the library in front and without",
    .spec = {.without = "device message-size iterations warmup seed no-validation json plot",
             .own = host_own,
             .take = host_take,
             .doc = "Measures calls of a program that never uses device memory, with the library in front and without, "
                    "in turns. A time is that of one call in a row of many; the least of all rows counts."},
    .options = &host_options,
    .begin = host_begin,
    .run = host_run,
};
