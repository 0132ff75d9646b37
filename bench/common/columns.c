#include "bench/common/columns.h"

#include <stdlib.h>

/* A single call may have met a disturbance: if it suggests that there is no time, two more are measured. */
static void column_limit(const struct bench_plan *plan, const struct bench_timed *timed, struct bench_column *column,
                         int number)
{
    const long least = column->checked > BENCH_TURNS ? column->checked : BENCH_TURNS;
    double most = 0;
    timed->prepare(timed->with, number, 0, 0);
    timed->call(timed->with, number, 0); /* the first call may be longer than others */
    for (int try = 0; try < 3 && most < (double)column->iterations; try++) {
        timed->prepare(timed->with, number, 0, 0);
        double fits = plan->seconds * 1e6 / bench_longest(timed->call(timed->with, number, 0));
        most = fits > most ? fits : most;
        if (fits < BENCH_TURNS)
            break;
    }
    if ((double)column->iterations > most)
        column->iterations = most < (double)least ? least : (long)most;
    if ((double)column->warm_up > most / 10)
        column->warm_up = (long)(most / 10);
}

void bench_column_plan(const struct bench_plan *plan, const struct bench_timed *timed, struct bench_column *column,
                       int number, long checked)
{
    const int small = timed->bytes <= 8192, large = timed->bytes >= (size_t)32 << 20;
    column->iterations = plan->iterations ? plan->iterations : small ? 1000 : large ? 20 : 100;
    column->warm_up = plan->warm_up >= 0 ? plan->warm_up : small ? 100 : large ? 3 : 10;
    column->checked = plan->check ? checked : 0;
    column->scale = column->scale > 0 ? column->scale : 1;
    if (plan->seconds > 0)
        column_limit(plan, timed, column, number);
    if (column->checked > column->iterations)
        column->checked = column->iterations;
    column->samples = calloc((size_t)column->iterations, sizeof *column->samples);
    if (!column->samples)
        bench_fail("out of memory");
}

static int run_turn(const struct bench_timed *timed, struct bench_column *column, int number, int turn)
{
    const long from = column->iterations * turn / BENCH_TURNS, to = column->iterations * (turn + 1) / BENCH_TURNS;
    const long warm_up = turn == 0 || column->warm_up < 2 ? column->warm_up : 2;
    for (long i = from - (to > from ? warm_up : 0); i < to; i++) {
        const int checked = i >= column->iterations - column->checked;
        timed->prepare(timed->with, number, i, checked);
        const double took = timed->call(timed->with, number, i);
        if (i >= from)
            column->samples[i] = took * column->scale;
        if (checked && !timed->check(timed->with, number, i))
            return 0;
    }
    return 1;
}

int bench_columns_run(const struct bench_plan *plan, const struct bench_timed *timed, struct bench_column columns[],
                      int n)
{
    for (int turn = 0; turn < BENCH_TURNS; turn++) {
        for (int l = 0; l < n; l++) {
            if (!columns[l].name)
                continue;
            bench_say_progress(plan, columns[l].name, timed->what, turn, BENCH_TURNS);
            if (!run_turn(timed, &columns[l], l, turn))
                return 0;
        }
    }
    return 1;
}

void bench_columns_free(struct bench_column columns[], int n)
{
    for (int l = 0; l < n; l++) {
        free(columns[l].samples);
        columns[l].samples = NULL;
    }
}

static int double_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, long n)
{
    qsort(values, (size_t)n, sizeof *values, double_ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct bench_figures bench_figures_of(double *times, long n)
{
    struct bench_figures out = {.iterations = n};
    for (long i = 0; i < n; i++)
        out.average += times[i] / (double)n;
    out.median = bench_median(times, n);
    out.least = times[0];
    out.most = times[n - 1];
    return out;
}

void bench_say_time(const struct bench_plan *plan, const char *way, int part, const struct bench_figures *figures)
{
    bench_say(plan, "time %s %d %.4f %.4f %.4f %.4f %ld %d", way, part, figures->average, figures->median,
              figures->least, figures->most, figures->iterations, figures->extrapolated);
}

void bench_say_longest(const struct bench_plan *plan, const struct bench_column *column, int part)
{
    const long n = column->iterations;
    double *longest = calloc((size_t)n, sizeof *longest);
    if (!longest)
        bench_fail("out of memory");
    bench_mpi.Allreduce(column->samples, longest, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    struct bench_figures figures = bench_figures_of(longest, n);
    bench_say_time(plan, column->name, part, &figures);
    free(longest);
}

/* The average and the median. least, most: of this rank. */
static void columns_say_ranks(const struct bench_plan *plan, const struct bench_column *column, int part, double least,
                              double most)
{
    const long n = column->iterations;
    double *sums = calloc((size_t)n, sizeof *sums);
    if (!sums)
        bench_fail("out of memory");
    bench_mpi.Allreduce(column->samples, sums, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (long i = 0; i < n; i++)
        sums[i] /= plan->size;
    struct bench_figures figures = bench_figures_of(sums, n);
    bench_mpi.Allreduce(&least, &figures.least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    bench_mpi.Allreduce(&most, &figures.most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    bench_say_time(plan, column->name, part, &figures);
    free(sums);
}

void bench_say_average(const struct bench_plan *plan, const struct bench_column *column, int part)
{
    double mine = 0;
    for (long i = 0; i < column->iterations; i++)
        mine += column->samples[i] / (double)column->iterations;
    columns_say_ranks(plan, column, part, mine, mine);
}

void bench_say_calls(const struct bench_plan *plan, const struct bench_column *column, int part)
{
    double least = column->samples[0], most = least;
    for (long i = 1; i < column->iterations; i++) {
        least = column->samples[i] < least ? column->samples[i] : least;
        most = column->samples[i] > most ? column->samples[i] : most;
    }
    columns_say_ranks(plan, column, part, least, most);
}

void bench_say_progress(const struct bench_plan *plan, const char *way, const char *what, int part, int parts)
{
    bench_say(plan, "progress %s of %s, part %d of %d", way, what, part + 1, parts);
}
