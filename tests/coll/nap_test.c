/* Long waits for kernels are slept through where TUTTI_WAIT is auto, and under no other policy. Rank 0 launches each
 * kernel LATE_MS late, so that rank 1 waits as long for its own, on any machine. The calls are repeated until a nap was
 * seen: a busy machine makes some waits short, never all. Every result is checked. nap_test auto|spin|yield|sleep */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/coll.h"
#include "coll/sums.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "team/node.h"
#include "tutti/tutti.h"

enum { RANKS = 2, COUNT = 1 << 18, LATE_MS = 4, MOST = 2000, WITHOUT = 60, SMALL = COUNT / 2 };

static int naps_wanted;
static atomic_int napped;
static struct tutti_device late;

static int launch_late(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    usleep(LATE_MS * 1000);
    return tutti_device()->launch.kernel(stream, launch);
}

static void sum(struct tutti_team *team, int *in, int *out, int count, int round)
{
    static int mine[RANKS][COUNT];
    int *host = mine[team->rank], wrong = 0;
    struct tutti_call call = sum_call(TUTTI_COLLECTIVE_ALLREDUCE, in, out, (size_t)count);
    enum tutti_reduce_outcome taken;
    const char *why = "?";
    for (int i = 0; i < count; i++)
        host[i] = i + round + team->rank;
    CHECK(tutti_copy(in, host, (size_t)count * sizeof *host) == 0, "copy");
    const int status = tutti_reduce_run(team, &call, &taken, &why);
    CHECK(status == TUTTI_OK && strcmp(why, "ll") == 0, "%s by %s", tutti_status_text(status), why);
    CHECK(tutti_copy(host, out, (size_t)count * sizeof *host) == 0, "copy");
    for (int i = 0; i < count; i++)
        wrong += host[i] != RANKS * (i + round) + RANKS * (RANKS - 1) / 2;
    CHECK(wrong == 0, "round %d: %d of %d elements are wrong", round, wrong, count);
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct tutti_node *node;
    struct tutti_team *team;
    int *in, *out, round = 0;
    (void)unused;
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node") ||
        !CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK, "team") ||
        !CHECK(tutti_alloc(COUNT * sizeof(int), (void **)&in) == 0 &&
                   tutti_alloc(COUNT * sizeof(int), (void **)&out) == 0,
               "device memory"))
        return 1;
    if (team->rank == 0)
        team->device = &late;
    const struct tutti_forecast *forecast = &tutti_membership(team)->forecast;
    for (; round < WITHOUT; round++) /* below a MiB waits have no forecast */
        sum(team, in, out, SMALL, round);
    CHECK(forecast->late_ns == 0, "rank %d: a nap in calls of %d elements", team->rank, SMALL);
    for (int go = 1; go; round++) {
        sum(team, in, out, COUNT, round);
        if (forecast->late_ns > 0) /* so much longer than asked was a nap */
            atomic_store(&napped, 1);
        transport->ops->barrier(transport);
        go = !atomic_load(&napped) && !check_failed() && round < WITHOUT + (naps_wanted ? MOST : WITHOUT);
        transport->ops->barrier(transport);
    }
    transport->ops->barrier(transport);
    tutti_team_free(team);
    tutti_free(in);
    tutti_free(out);
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(int argc, char **argv)
{
    const char *policy = argc > 1 ? argv[1] : "auto";
    naps_wanted = strcmp(policy, "auto") == 0;
    setenv("TUTTI_WAIT", policy, 1);
    setenv("TUTTI_RULES", "allreduce: *@ll", 1);
    late = *tutti_device();
    late.launch.kernel = launch_late;
    late.launch.keep = NULL;
    const int failed = tutti_threads_run(RANKS, rank_main, NULL);
    CHECK(atomic_load(&napped) == naps_wanted, "TUTTI_WAIT=%s: %s", policy, naps_wanted ? "no nap" : "a nap");
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed || check_failed();
}
