/* TUTTI_BLOCKS and TUTTI_LINES, as the launches of a team show them. Ranks are processes, so that each has settings of
 * its own.
 * usage: settings_test blocks | lines */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/algorithm.h"
#include "coll/sums.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 3, COUNT = 400000, GPU = 24, FREE = 0 }; /* a simulated GPU holds so many blocks */

/* What each rank is told, and what must come of it. */
struct blocks_case {
    const char *told[RANKS];
    unsigned most; /* blocks of any launch; FREE: there is no limit by this */
};
struct lines_case {
    const char *told, *by; /* by: what the rule for ll128, then ll, comes to */
};

/* The device, which writes down what it is asked for. */
static struct tutti_device watched;
static unsigned most_blocks;

static int launch(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    const unsigned blocks = tutti_launched_blocks(launch->blocks, launch->rows);
    most_blocks = blocks > most_blocks ? blocks : most_blocks;
    return tutti_device()->launch.kernel(stream, launch);
}

static const char *sum(struct tutti_team *team)
{
    static int host[COUNT];
    const char *why = "?";
    enum tutti_reduce_outcome taken = TUTTI_REDUCE_DECLINED;
    int *in = NULL, *out = NULL, wrong = 0;
    CHECK(tutti_alloc(sizeof host, (void **)&in) == 0 && tutti_alloc(sizeof host, (void **)&out) == 0, "memory");
    for (int i = 0; i < COUNT; i++)
        host[i] = i + team->rank;
    CHECK(tutti_copy(in, host, sizeof host) == 0, "copy");
    const struct tutti_call call = sum_call(TUTTI_COLLECTIVE_ALLREDUCE, in, out, COUNT);
    CHECK(tutti_reduce_run(team, &call, &taken, &why) == TUTTI_OK && taken == TUTTI_REDUCE_DONE, "a call by %s", why);
    CHECK(tutti_copy(host, out, sizeof host) == 0, "copy");
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != RANKS * i + RANKS * (RANKS - 1) / 2;
    CHECK(wrong == 0, "%d elements are wrong, by %s", wrong, why);
    tutti_free(in);
    tutti_free(out);
    return why;
}

static struct tutti_team *open_team(struct tutti_transport *transport, struct tutti_node **node)
{
    struct tutti_team *team = NULL;
    char why[160];
    if (!CHECK(tutti_device()->open(why, sizeof why) == TUTTI_OK, "device: %s", why) ||
        !CHECK(tutti_node_open(transport, node) == TUTTI_OK && *node, "node") ||
        !CHECK(tutti_team_create(*node, transport, &team) == TUTTI_OK, "team"))
        return NULL;
    return team;
}

static int blocks_main(struct tutti_transport *transport, void *with)
{
    static const char *const algorithms[] = {"oneshot", "twoshot", "direct", "ll", "ll128", "pipeline"};
    const struct blocks_case *c = with;
    struct tutti_node *node = NULL;
    char rules[64], wrong[200];
    setenv("TUTTI_BLOCKS", c->told[transport->rank], 1);
    struct tutti_team *team = open_team(transport, &node);
    if (!team)
        return 1;
    watched = *tutti_device();
    watched.launch.kernel = launch;
    watched.launch.keep = NULL;
    tutti_rules_follow(1);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        snprintf(rules, sizeof rules, "allreduce: *@%s", algorithms[i]);
        CHECK(tutti_rules_set(rules, wrong, sizeof wrong) == TUTTI_OK, "%s", wrong);
        CHECK(strcmp(sum(team), algorithms[i]) == 0, "not by %s", algorithms[i]); /* the first opens the team */
        team->device = &watched;
        most_blocks = 0;
        sum(team);
        CHECK(c->most == FREE ? most_blocks > GPU / 2 : most_blocks == c->most,
              "rank %d of %s, %s, %s: kernels of %s have %u blocks, not %u", team->rank, c->told[0], c->told[1],
              c->told[2], algorithms[i], most_blocks, c->most);
    }
    transport->ops->barrier(transport);
    tutti_team_free(team);
    tutti_node_close(node);
    return check_failed() != 0;
}

static int lines_main(struct tutti_transport *transport, void *with)
{
    const struct lines_case *c = with;
    struct tutti_node *node = NULL;
    setenv("TUTTI_LINES", c->told, 1);
    setenv("TUTTI_RULES", "allreduce: *@ll128 *@ll", 1);
    struct tutti_team *team = open_team(transport, &node);
    if (!team)
        return 1;
    const char *by = sum(team);
    CHECK(strcmp(by, c->by) == 0, "TUTTI_LINES=%s: by %s, not %s", c->told, by, c->by);
    transport->ops->barrier(transport);
    tutti_team_free(team);
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(int argc, char **argv)
{
    /* The least of what the ranks are told counts. */
    static const struct blocks_case blocks[] = {
        {{"0", "0", "0"}, FREE}, {{"5", "5", "5"}, 5}, {{"9", "3", "7"}, 3},
        {{"0", "4", "0"}, 4},    {{"1", "1", "1"}, 1}, {{"256", "256", "256"}, FREE},
    };
    /* Stores of a simulated GPU arrive whole. */
    static const struct lines_case lines[] = {{"0", "ll"}, {"1", "ll128"}, {"auto", "ll128"}};
    int failed = 0;
    if (argc > 1 && strcmp(argv[1], "lines") == 0) {
        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
            failed |= tutti_forks_run(RANKS, lines_main, (void *)&lines[i], NULL);
    } else {
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
            failed |= tutti_forks_run(RANKS, blocks_main, (void *)&blocks[i], NULL);
    }
    return failed != 0;
}
