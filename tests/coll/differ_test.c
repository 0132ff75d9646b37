/* Ranks whose rules differ use the defaults, all of them; ranks whose rules agree use their rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "coll/sums.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 3, COUNT = 4096 };

static const struct {
    const char *rules[RANKS];
    const char *algorithm;
} cases[] = {
    {{"allreduce: *@twoshot", "allreduce: *@twoshot", "allreduce: *@twoshot"}, "twoshot"},
    {{"allreduce: *@twoshot", "allreduce: *@oneshot", "allreduce: *@twoshot"}, "direct"},
    {{"", "", "allreduce: *@twoshot"}, "direct"},
    {{"allreduce: 0-8k@twoshot", "allreduce: 0-9k@twoshot", "allreduce: 0-8k@twoshot"}, "direct"},
};

static int sum(struct tutti_team *team, const char *algorithm)
{
    int *buffer = NULL, host[COUNT], wrong = 0;
    for (int i = 0; i < COUNT; i++)
        host[i] = i + team->rank;
    CHECK(tutti_alloc(sizeof host, (void **)&buffer) == 0 && tutti_copy(buffer, host, sizeof host) == 0, "alloc");
    struct tutti_call call = sum_call(TUTTI_COLLECTIVE_ALLREDUCE, buffer, buffer, COUNT);
    enum tutti_reduce_outcome taken;
    const char *why = "?";
    int status = tutti_reduce_run(team, &call, &taken, &why);
    CHECK(status == TUTTI_OK && strcmp(why, algorithm) == 0, "rank %d: %s by %s, expected %s", team->rank,
          tutti_status_text(status), why, algorithm);
    CHECK(tutti_copy(host, buffer, sizeof host) == 0, "copy");
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != RANKS * i + RANKS * (RANKS - 1) / 2;
    CHECK(wrong == 0, "rank %d: %d elements are wrong", team->rank, wrong);
    return tutti_free(buffer);
}

static int rank_main(struct tutti_transport *transport, void *which)
{
    int i = *(const int *)which;
    struct tutti_node *node;
    struct tutti_team *team;
    check_rank(transport->rank);
    setenv("TUTTI_RULES", cases[i].rules[transport->rank], 1);
    setenv("TUTTI_RULES_FILE", "/dev/null", 1);
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node") ||
        !CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK, "team"))
        return 1;
    sum(team, cases[i].algorithm);
    transport->ops->barrier(transport);
    tutti_team_free(team);
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(void)
{
    int failed = 0;
    for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++)
        failed |= tutti_forks_run(RANKS, rank_main, &i, NULL) != 0;
    return failed;
}
