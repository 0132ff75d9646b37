/* Typed messages between ranks: how they are timed. A time is that of one exchange after a barrier, of the rank that
 * takes longest. The last exchange of each way has new data and is checked. */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "order.h"
#include "tutti/tutti.h"
#include "ways.h"

enum { TURNS = 4 };

struct lane {
    long iterations, warm_up;
    double *samples;
};

static const char *way_name(int way)
{
    static const char *const names[EXCHANGE_WAYS] = {
#define EXCHANGE_WAY(id, name, text) name,
#include "exchange_ways.def"
#undef EXCHANGE_WAY
    };
    return names[way];
}

void exchange_mpi(int error, const char *call)
{
    if (error != MPI_SUCCESS)
        bench_fail("%s failed with error %d", call, error);
}

int exchange_has(const struct exchange_plan *what, int way)
{
    if (way != EXCHANGE_TUTTI && !(what->ways >> way & 1))
        return 0;
    if (way == EXCHANGE_PLAIN)
        return strcmp(tutti_device_name(), "host") == 0;
    return way != EXCHANGE_NATIVE || bench_mpi_takes_device();
}

static double once(const struct exchange *exchange, int way)
{
    bench_mpi.Barrier(MPI_COMM_WORLD);
    const uint64_t start = tutti_now_ns();
    exchange->call(exchange->with, way);
    return (double)(tutti_now_ns() - start) * 1e-3 * exchange->share;
}

static void plan_lane(const struct bench_plan *plan, const struct exchange *exchange, int way, struct lane *lane)
{
    const int small = exchange->bytes <= 8192, large = exchange->bytes >= (size_t)32 << 20;
    lane->iterations = plan->iterations ? plan->iterations : small ? 1000 : large ? 20 : 100;
    lane->warm_up = plan->warm_up >= 0 ? plan->warm_up : small ? 100 : large ? 3 : 10;
    exchange->prepare(exchange->with, way, plan->seed);
    once(exchange, way);
    if (plan->seconds > 0) {
        double fits = plan->seconds * 1e6 * exchange->share / bench_longest(once(exchange, way));
        if ((double)lane->iterations > fits)
            lane->iterations = fits < TURNS ? TURNS : (long)fits;
        if ((double)lane->warm_up > fits / 10)
            lane->warm_up = (long)(fits / 10);
    }
    lane->samples = calloc((size_t)lane->iterations, sizeof *lane->samples);
    if (!lane->samples)
        bench_fail("out of memory");
}

static int right(const struct bench_plan *plan, const struct exchange *exchange, int way, uint64_t seed)
{
    char text[400] = "", all[400];
    int first, mine = plan->size;
    if (!exchange->check(exchange->with, way, seed, text, sizeof text))
        mine = plan->rank;
    bench_mpi.Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == plan->size)
        return 1;
    memcpy(all, text, sizeof all);
    bench_mpi.Bcast(all, (int)sizeof all, MPI_CHAR, first, MPI_COMM_WORLD);
    bench_say(plan, "wrong %s, %s, %zu bytes, rank %d: %s", way_name(way), exchange->name, exchange->bytes, first, all);
    return 0;
}

static int run_turn(const struct bench_plan *plan, const struct exchange *exchange, int way, struct lane *lane,
                    int turn)
{
    const long from = lane->iterations * turn / TURNS, to = lane->iterations * (turn + 1) / TURNS;
    const long warm_up = turn == 0 || lane->warm_up < 2 ? lane->warm_up : 2;
    for (long i = from - (to > from ? warm_up : 0); i < to; i++) {
        const int checked = plan->check && i == lane->iterations - 1;
        const uint64_t seed = plan->seed + exchange->bytes * 31 + (uint64_t)way * 7 + 1;
        if (checked)
            exchange->prepare(exchange->with, way, seed);
        double took = once(exchange, way);
        if (i >= from)
            lane->samples[i] = took;
        if (checked && !right(plan, exchange, way, seed))
            return 0;
    }
    return 1;
}

static void say_times(const struct bench_plan *plan, int way, const struct lane *lane)
{
    const long n = lane->iterations;
    double average = 0, *longest = calloc((size_t)n, sizeof *longest);
    if (!longest)
        bench_fail("out of memory");
    bench_mpi.Allreduce(lane->samples, longest, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (long i = 0; i < n; i++)
        average += longest[i] / (double)n;
    double middle = bench_median(longest, n);
    bench_say(plan, "time %s 0 %.4f %.4f %.4f %.4f %ld 0", way_name(way), average, middle, longest[0], longest[n - 1],
              n);
    free(longest);
}

int exchange_run(const struct bench_plan *plan, const struct exchange *exchange)
{
    struct lane lane[EXCHANGE_WAYS] = {{0}};
    char how[96];
    int fine = 1, accelerated;
    for (int way = 0; way < EXCHANGE_WAYS; way++) {
        if (exchange->used[way])
            plan_lane(plan, exchange, way, &lane[way]);
    }
    bench_outcome_begin();
    once(exchange, EXCHANGE_TUTTI);
    bench_outcome_end(exchange->counted, how, sizeof how, &accelerated);
    for (int turn = 0; turn < TURNS && fine; turn++) {
        for (int way = 0; way < EXCHANGE_WAYS && fine; way++) {
            if (!exchange->used[way])
                continue;
            bench_say(plan, "progress %s %s %d %d", way_name(way), exchange->name, turn, TURNS);
            fine = run_turn(plan, exchange, way, &lane[way], turn);
        }
    }
    if (fine) {
        bench_say(plan, "row %zu %s", exchange->bytes, exchange->name);
        bench_say(plan, "how %s", how);
        for (int way = 0; way < EXCHANGE_WAYS; way++) {
            if (exchange->used[way])
                say_times(plan, way, &lane[way]);
        }
        bench_say(plan, "done");
    }
    for (int way = 0; way < EXCHANGE_WAYS; way++)
        free(lane[way].samples);
    return fine;
}
