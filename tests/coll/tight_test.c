/* Buffers that end with the vector: the host device, in strict mode, refuses a pointer behind an allocation even where
 * nothing is to be written there. Every collective by every algorithm, of so few elements that some slices are empty.
 * Threads with a team each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/algorithm.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 3, MOST = 130 };
static const size_t lengths[] = {1, 2, 3, 16, 64, 65, 128, 129};
static const enum tutti_collective collectives[] = {
    TUTTI_COLLECTIVE_ALLREDUCE,      TUTTI_COLLECTIVE_REDUCE,
    TUTTI_COLLECTIVE_REDUCE_SCATTER, TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK,
    TUTTI_COLLECTIVE_SCAN,           TUTTI_COLLECTIVE_EXSCAN,
};

static void call_of(const struct tutti_team *team, enum tutti_collective collective, size_t n, size_t counts[],
                    struct tutti_call *call)
{
    *call = (struct tutti_call){.collective = collective,
                                .count = n,
                                .root = (int)(n % (size_t)team->size),
                                .type = TUTTI_TYPE_I32,
                                .op = TUTTI_OP_SUM,
                                .kind = TUTTI_ARRIVAL_DEVICE,
                                .gpu = -1};
    if (collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK)
        call->count = (n + RANKS - 1) / RANKS * RANKS;
    if (collective != TUTTI_COLLECTIVE_REDUCE_SCATTER)
        return;
    for (size_t r = 0; r < RANKS; r++)
        counts[r] = r == n % RANKS ? n : 0;
    call->counts = counts;
}

static void once(struct tutti_team *team, enum tutti_collective collective, size_t n, int in_place, const char *by)
{
    struct tutti_call call;
    size_t counts[RANKS];
    int values[MOST], *in = NULL, *out = NULL, wrong = 0;
    call_of(team, collective, n, counts, &call);
    const struct tutti_result mine = tutti_result_of(&call, team->rank, team->size);
    const int depth = tutti_result_depth(&call, team->rank, team->size);
    const size_t bytes = call.count * sizeof(int);
    CHECK(tutti_alloc(bytes, (void **)&in) == 0, "alloc");
    if (mine.count && !in_place)
        CHECK(tutti_alloc(mine.count * sizeof(int), (void **)&out) == 0, "alloc");
    for (size_t i = 0; i < call.count; i++)
        values[i] = (int)i * (team->rank + 1);
    CHECK(tutti_copy(in, values, bytes) == 0, "copy");
    call.in = in;
    call.out = in_place ? in : out;
    enum tutti_reduce_outcome taken = TUTTI_REDUCE_DECLINED;
    const char *why = "?";
    const int status = tutti_reduce_run(team, &call, &taken, &why);
    CHECK(status == TUTTI_OK && taken == TUTTI_REDUCE_DONE, "collective %d of %zu by %s%s: %s", (int)collective, n, by,
          in_place ? ", in place" : "", tutti_status_text(status));
    if (mine.count)
        CHECK(tutti_copy(values, call.out, mine.count * sizeof(int)) == 0, "copy");
    for (size_t i = 0; i < mine.count; i++)
        wrong += values[i] != (int)(mine.begin + i) * depth * (depth + 1) / 2;
    CHECK(wrong == 0, "collective %d of %zu by %s: %d of %zu are wrong", (int)collective, n, why, wrong, mine.count);
    tutti_free(in);
    tutti_free(out);
}

static void all_calls(struct tutti_team *team, const char *by)
{
    for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && !check_failed(); i++) {
            for (int in_place = 0; in_place < 2; in_place++)
                once(team, collectives[c], lengths[i], in_place, by);
        }
    }
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct tutti_node *node;
    struct tutti_team *team;
    char rules[256], wrong[256];
    (void)unused;
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node") ||
        !CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK, "team"))
        return 1;
    for (int a = 0; a < TUTTI_ALGORITHMS; a++) {
        const char *name = tutti_algorithms[a]->name;
        snprintf(rules, sizeof rules, "allreduce: *@%s reduce: *@%s reduce_scatter: *@%s scan: *@%s", name, name, name,
                 name);
        if (transport->rank == 0) /* of all threads */
            CHECK(tutti_rules_set(rules, wrong, sizeof wrong) == TUTTI_OK, "rules: %s", wrong);
        transport->ops->barrier(transport);
        all_calls(team, name);
        transport->ops->barrier(transport);
    }
    tutti_team_free(team);
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(void)
{
    tutti_rules_follow(1);
    const int failed = tutti_threads_run(RANKS, rank_main, NULL);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0 || check_failed() != 0;
}
