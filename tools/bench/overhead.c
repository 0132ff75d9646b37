#include "tools/bench/overhead.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    double seconds;
    int preloaded;
};

static void take(void *with, char *text)
{
    struct run *run = with;
    sscanf(text, "overhead %lf %d", &run->seconds, &run->preloaded);
}

/* The exit status that the command ends with where it is not 0. */
static int measure(const struct bench_options *o, const struct bench_place *place, int preload, double *seconds)
{
    char iterations[48], warm_up[48], name[] = BENCH_DOES_OVERHEAD, *arguments[] = {name, iterations, warm_up, NULL};
    snprintf(iterations, sizeof iterations, "iterations=%ld", o->iterations);
    snprintf(warm_up, sizeof warm_up, "warm_up=%ld", o->warm_up);
    struct run run = {.preloaded = -1};
    int status = bench_start(o, place, arguments, preload, take, &run);
    if (status == 0 && run.preloaded != preload)
        fprintf(stderr, "tutti: the library was %s in front of the MPI\n", preload ? "not" : "still");
    *seconds = run.seconds;
    return status != 0 ? status : run.preloaded != preload || run.seconds <= 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int bench_overhead(int argc, char **argv)
{
    struct bench_options o;
    static struct bench_place place;
    bench_overhead_options(argc, argv, &o);
    bench_files_check(&o);
    bench_place_find(&o, &place);
    printf("# Cost of the library to a host-only program: %ld MPI_Allreduce of 8 bytes, %d ranks, %s %s\n",
           o.iterations, o.ranks, tool_family_title(place.mpi->family), place.mpi->version);
    printf("%-6s %14s %14s %10s\n", "# Pair", "without, s", "with, s", "ratio");
    size_t n = (size_t)o.pairs;
    double *without = tool_alloc(n * sizeof *without), *with = tool_alloc(n * sizeof *with);
    double *ratios = tool_alloc(n * sizeof *ratios);
    for (int i = 0; i < o.pairs; i++) {
        /* Which of the two comes first changes from pair to pair: drift meets both alike. */
        int first = i % 2;
        int status = measure(&o, &place, first, first ? &with[i] : &without[i]);
        if (status == 0)
            status = measure(&o, &place, !first, first ? &without[i] : &with[i]);
        if (status != 0)
            return status;
        ratios[i] = with[i] / without[i];
        printf("%-6d %14.4f %14.4f %10.4f\n", i + 1, without[i], with[i], ratios[i]);
        fflush(stdout);
    }
    double ratio = median(ratios, o.pairs);
    /* median() has sorted them */
    printf("# Median of the ratios: %.4f (%+.2f %%), from %.4f to %.4f\n", ratio, (ratio - 1) * 100, ratios[0],
           ratios[n - 1]);
    if (ratios[n - 1] - ratios[0] > 0.05)
        puts("# The pairs differ by more than 5 %: this machine was too busy to tell a few percent");
    int failed = bench_json_overhead(&o, &place, without, with, o.pairs, ratio);
    free(without);
    free(with);
    free(ratios);
    if (o.limit >= 0 && (ratio - 1) * 100 > o.limit) {
        fprintf(stderr, "tutti: the library costs more than %g %%\n", o.limit);
        failed = 1;
    }
    return failed;
}
