/* Typed messages between ranks: how they are timed. A time is that of one exchange after a barrier, of the rank that
 * takes longest. The last exchange of each way has new data and is checked. */
#include "bench/messages/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/columns.h"
#include "bench/common/gpu.h"
#include "bench/common/outcome.h"
#include "bench/common/place.h"
#include "coll/coll.h"
#include "core/clock.h"
#include "core/settings.h"
#include "tutti/tutti.h"

struct timing {
    const struct bench_plan *plan;
    const struct exchange *exchange;
};

static const char *way_name(int way)
{
    static const char *const names[EXCHANGE_WAYS] = {
#define EXCHANGE_WAY(id, name, text) name,
#include "bench/words/exchange_ways.def"
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
        return bench_on_host();
    return way != EXCHANGE_NATIVE || bench_mpi_takes_device();
}

int exchange_has_rules(const struct exchange *exchange)
{
    return exchange->used[EXCHANGE_BY_STAGED] || exchange->used[EXCHANGE_BY_PACKED] ||
           exchange->used[EXCHANGE_BY_DIRECT] || exchange->used[EXCHANGE_BY_PIPELINED];
}

int exchange_apart(const struct bench_plan *plan)
{
    int mine[2] = {plan->node_rank, -plan->node_rank}, all[2];
    bench_mpi.Allreduce(mine, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return plan->size > 1 && (tutti_settings()->node_ranks == 1 || all[0] == -all[1]);
}

/* Rules that the way's messages are sent under; NULL: those of the program. */
static const char *rules_of(int way)
{
    switch (way) {
    case EXCHANGE_BY_STAGED:
        return "message: *@staged message_far: *@staged";
    case EXCHANGE_BY_PACKED:
        return "message: *@packed";
    case EXCHANGE_BY_DIRECT:
        return "message: *@direct";
    case EXCHANGE_BY_PIPELINED:
        return "message_far: *@pipelined";
    default:
        return NULL;
    }
}

static void take_rules(const char *rules)
{
    static const char *in_force;
    char wrong[320] = "";
    if (rules == in_force)
        return;
    if (tutti_rules_set(rules, wrong, sizeof wrong) != 0)
        bench_fail("%s", wrong);
    in_force = rules;
}

static uint64_t seed_of(const struct timing *timing, int way)
{
    return timing->plan->seed + timing->exchange->bytes * 31 + (uint64_t)way * 7 + 1;
}

static void exchange_prepare(void *with, int way, long i, int new_data)
{
    const struct timing *timing = with;
    (void)i;
    if (new_data)
        timing->exchange->prepare(timing->exchange->with, way, seed_of(timing, way));
}

static double exchange_once(void *with, int way, long i)
{
    const struct timing *timing = with;
    (void)i;
    const char *rules = rules_of(way);
    take_rules(rules);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    const uint64_t start = tutti_now_ns();
    timing->exchange->call(timing->exchange->with, rules ? timing->exchange->typed : way);
    return (double)(tutti_now_ns() - start) * 1e-3;
}

static int exchange_check(void *with, int way, long i)
{
    const struct timing *timing = with;
    const struct bench_plan *plan = timing->plan;
    const struct exchange *exchange = timing->exchange;
    char text[400] = "", all[400];
    int first, mine = plan->size;
    (void)i;
    if (!exchange->check(exchange->with, way, seed_of(timing, way), text, sizeof text))
        mine = plan->rank;
    bench_mpi.Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == plan->size)
        return 1;
    memcpy(all, text, sizeof all);
    bench_mpi.Bcast(all, (int)sizeof all, MPI_CHAR, first, MPI_COMM_WORLD);
    bench_say(plan, "wrong %s, %s, %zu bytes, rank %d: %s", way_name(way), exchange->name, exchange->bytes, first, all);
    return 0;
}

/* How an exchange goes, now that its memory is known everywhere. */
static void say_ways(struct timing *timing)
{
    const struct exchange *exchange = timing->exchange;
    char text[96];
    int accelerated;
    bench_outcome_begin();
    exchange_once(timing, EXCHANGE_TUTTI, 0);
    bench_outcome_end(exchange->counted, text, sizeof text, &accelerated);
    bench_say(timing->plan, "how %s", text);
    for (int way = 0; way < EXCHANGE_WAYS; way++) {
        if (!exchange->used[way] || !rules_of(way))
            continue;
        bench_outcome_begin();
        exchange_once(timing, way, 0);
        bench_outcome_messages(exchange->sending, text, sizeof text);
        bench_say(timing->plan, "went %s %s", way_name(way), text);
    }
}

int exchange_run(const struct bench_plan *plan, const struct exchange *exchange)
{
    struct timing timing = {.plan = plan, .exchange = exchange};
    struct bench_column columns[EXCHANGE_WAYS] = {{0}};
    const struct bench_timed timed = {.what = exchange->name,
                                      .bytes = exchange->bytes,
                                      .with = &timing,
                                      .prepare = exchange_prepare,
                                      .call = exchange_once,
                                      .check = exchange_check};
    for (int way = 0; way < EXCHANGE_WAYS; way++) {
        if (!exchange->used[way])
            continue;
        columns[way] = (struct bench_column){.name = way_name(way), .scale = exchange->share};
        exchange->prepare(exchange->with, way, plan->seed);
        bench_column_plan(plan, &timed, &columns[way], way, 1);
    }
    const int fine = bench_columns_run(plan, &timed, columns, EXCHANGE_WAYS);
    if (fine) {
        bench_say(plan, "row %zu %s", exchange->bytes, exchange->name);
        say_ways(&timing);
        for (int way = 0; way < EXCHANGE_WAYS; way++) {
            if (columns[way].name)
                bench_say_longest(plan, &columns[way], 0);
        }
        bench_say(plan, "done");
    }
    bench_columns_free(columns, EXCHANGE_WAYS);
    return fine;
}
