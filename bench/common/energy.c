#include "bench/common/energy.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "bench/common/columns.h"
#include "bench/common/energy_meter.h"
#include "bench/common/gpu.h"
#include "core/clock.h"
#include "core/settings.h"

enum { TRIALS_MOST = 64, STREAM_DEPTH = 256 };

static const char *const way_names[ENERGY_WAYS] = {
#define ENERGY_WAY(id, name, reduction, transfer, grid, text) name,
#include "bench/words/energy_ways.def"
#undef ENERGY_WAY
};
static const char *const part_names[ENERGY_PARTS] = {ENERGY_PART_NAMES};

/* Windows of one way at one size. */
struct energy_series {
    int n;
    struct energy_trial {
        double us, joules[ENERGY_PARTS], net[ENERGY_PARTS]; /* of a call; net: less what the idle window drew */
    } trial[TRIALS_MOST];
    double seconds, calls, updates; /* of all windows; updates: the least */
    long batch;
    double us;
};

static void energy_sleep(double us)
{
    const struct timespec time = {(time_t)(us * 1e-6), (long)fmod(us * 1e3, 1e9)};
    if (us > 0)
        nanosleep(&time, NULL);
}

static void energy_policy(int way)
{
    static int usual = -1;
    if (usual < 0)
        usual = tutti_settings()->wait;
    tutti_settings_wait(way == ENERGY_SPIN    ? TUTTI_SET_WAIT_SPIN
                        : way == ENERGY_YIELD ? TUTTI_SET_WAIT_YIELD
                        : way == ENERGY_SLEEP ? TUTTI_SET_WAIT_SLEEP
                                              : usual);
}

void bench_energy_stream(void *with, int way, long calls, double us, void (*enqueue)(void *with, int way, int i))
{
    while (calls > 0) {
        const long n = calls < STREAM_DEPTH ? calls : STREAM_DEPTH;
        const uint64_t start = tutti_now_ns();
        for (int i = 0; i < n; i++)
            enqueue(with, way, i);
        /* Synchronising a stream spins: the host sleeps for the most of it. */
        energy_sleep(0.9 * us * (double)n - (double)(tutti_now_ns() - start) * 1e-3);
        bench_gpu_sync();
        calls -= n;
    }
}

/* Calls, or sleep, of about so many seconds; *calls is their number, the same on all ranks. */
static void energy_calibrate(const struct bench_energy_calls *c, int way, struct energy_series *series)
{
    const double wanted = c->plan->energy.seconds / 20 < 0.25 ? c->plan->energy.seconds / 20 : 0.25;
    series->batch = 1;
    series->us = wanted * 1e6;
    if (way == ENERGY_IDLE)
        return;
    c->prepare(c->with, way, 0);
    c->make(c->with, way, 1, 0); /* the first call may be longer than others */
    for (long n = 1;; n *= 4) {
        bench_mpi.Barrier(MPI_COMM_WORLD);
        const uint64_t start = tutti_now_ns();
        c->make(c->with, way, n, 0);
        const double took = bench_longest((double)(tutti_now_ns() - start) * 1e-9);
        series->us = took * 1e6 / (double)n;
        if (took < wanted / 8 && n < 1 << 24)
            continue;
        const double batch = wanted / took * (double)n;
        series->batch = batch < 1 ? 1 : (long)batch;
        return;
    }
}

static void energy_batch(const struct bench_energy_calls *c, int way, const struct energy_series *series)
{
    if (way == ENERGY_IDLE)
        energy_sleep(series->us);
    else
        c->make(c->with, way, series->batch, series->us);
}

/* A window, behind calls of a tenth of its length that bring the power to where it stays. Returns the calls in it. */
static double energy_window(const struct bench_energy_calls *c, int way, const struct energy_series *series,
                            double seconds, struct bench_energy_window *out)
{
    const struct bench_energy_plan *plan = &c->plan->energy;
    double calls = 0;
    energy_policy(way);
    if (way != ENERGY_IDLE)
        c->prepare(c->with, way, 0);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    const long batches = (long)ceil(seconds / 10 / (series->us * 1e-6 * (double)series->batch));
    for (long batch = 0; batch < batches; batch++)
        energy_batch(c, way, series);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    bench_energy_begin();
    do {
        energy_batch(c, way, series);
        calls += (double)series->batch;
    } while (!bench_energy_enough(seconds, seconds < plan->seconds ? 0 : plan->updates));
    bench_energy_end(c->plan, out);
    energy_policy(ENERGY_AUTO);
    return calls;
}

static void energy_add(struct energy_series *series, const struct bench_energy_window *window, double calls,
                       const struct bench_energy_window *idle)
{
    struct energy_trial *trial = &series->trial[series->n++];
    trial->us = window->seconds * 1e6 / calls;
    for (int p = 0; p < ENERGY_PARTS; p++) {
        const double idles = idle ? idle->part[p] / idle->seconds * window->seconds : NAN;
        trial->joules[p] = window->part[p] / calls;
        trial->net[p] = (window->part[p] - idles) / calls;
    }
    series->seconds += window->seconds;
    series->calls += calls;
    if (series->n == 1 || window->updates < series->updates)
        series->updates = window->updates;
}

/* Mean, and half the width of its 95 % confidence interval by Student's t; NAN for one trial. */
static void energy_mean(const double *values, int stride, int n, double *mean, double *half)
{
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += values[i * stride];
    *mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (values[i * stride] - *mean) * (values[i * stride] - *mean);
    *half = n < 2 ? NAN : (n <= 11 ? t[n - 2] : 2.228) * sqrt(squares / (n - 1) / n);
}

static void energy_say(const struct bench_plan *plan, int way, const struct energy_series *series)
{
    const int stride = sizeof series->trial[0] / sizeof(double);
    double mean, half, net, net_half;
    energy_mean(&series->trial[0].us, stride, series->n, &mean, &half);
    bench_say(plan, "window %s %.9g %.9g %.0f %.6f %.0f %d", way_names[way], mean, half, series->calls, series->seconds,
              series->updates, series->n);
    for (int p = 0; p < ENERGY_PARTS; p++) {
        energy_mean(&series->trial[0].joules[p], stride, series->n, &mean, &half);
        energy_mean(&series->trial[0].net[p], stride, series->n, &net, &net_half);
        bench_say(plan, "joules %s %s %.9g %.9g %.9g %.9g", way_names[way], part_names[p], mean, half, net, net_half);
    }
}

/* One more call of each way with new data. */
static int energy_check(const struct bench_energy_calls *c)
{
    int right = 1;
    for (int way = 0; way < ENERGY_WAYS && right && c->plan->check; way++) {
        if (!c->used[way] || way == ENERGY_IDLE)
            continue;
        energy_policy(way);
        c->prepare(c->with, way, 1);
        bench_mpi.Barrier(MPI_COMM_WORLD);
        c->make(c->with, way, 1, 0);
        right = c->check(c->with, way);
    }
    energy_policy(ENERGY_AUTO);
    return right;
}

int bench_energy_run(const struct bench_energy_calls *c)
{
    static struct energy_series series[ENERGY_WAYS];
    const struct bench_energy_plan *plan = &c->plan->energy;
    const int trials = plan->trials < TRIALS_MOST ? plan->trials : TRIALS_MOST;
    for (int way = 0; way < ENERGY_WAYS; way++) {
        series[way] = (struct energy_series){.n = 0};
        if (!c->used[way])
            continue;
        energy_policy(way);
        energy_calibrate(c, way, &series[way]);
    }
    for (int trial = -1; trial < trials; trial++) { /* the first one is short and not counted */
        struct bench_energy_window window, idle;
        for (int way = 0; way < ENERGY_WAYS; way++) {
            if (!c->used[way])
                continue;
            bench_say_progress(c->plan, way_names[way], "joules", trial < 0 ? 0 : trial, trials);
            const double calls =
                energy_window(c, way, &series[way], trial < 0 ? plan->seconds / 5 : plan->seconds, &window);
            if (way == ENERGY_IDLE)
                idle = window;
            if (trial >= 0)
                energy_add(&series[way], &window, calls, c->used[ENERGY_IDLE] ? &idle : NULL);
        }
    }
    if (!energy_check(c))
        return 0;
    bench_say(c->plan, "row %zu", c->bytes);
    for (int way = 0; way < ENERGY_WAYS; way++) {
        if (c->used[way])
            energy_say(c->plan, way, &series[way]);
    }
    bench_energy_say_sources(c->plan);
    bench_say(c->plan, "done");
    return 1;
}

/* What the machine draws before this run has a context on a GPU. */
void bench_energy_open(const struct bench_plan *plan)
{
    struct bench_energy_window bare;
    if (!plan->energy.trials)
        return;
    bench_energy_meters_open(plan);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    bench_energy_begin();
    do
        energy_sleep(plan->energy.seconds * 1e6 / 20);
    while (!bench_energy_enough(plan->energy.seconds, 0));
    bench_energy_end(plan, &bare);
    bench_say(plan, "bare %.6f %.6f %.6f %.6f", bare.part[ENERGY_COUNTER] / bare.seconds,
              bare.part[ENERGY_INTEGRAL] / bare.seconds, bare.part[ENERGY_PACKAGE] / bare.seconds,
              bare.part[ENERGY_DRAM] / bare.seconds);
}

void bench_energy_close(const struct bench_plan *plan)
{
    if (plan->energy.trials)
        bench_energy_meters_close(plan);
}
