/* Launches that come again are kept: right results whatever is in the buffers, through evictions and changes of size,
 * and what is in use is not driven out by buffers that come once. Threads with a team each. argv[1]: seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 3, BUFFERS = 3 * TUTTI_KEEPS, COUNT = 700, ROUNDS = 600 };

static int once(struct tutti_team *team, int *in, int *out, int count, int round)
{
    int host[COUNT], wrong = 0;
    for (int i = 0; i < count; i++)
        host[i] = i * 3 + team->rank + round;
    CHECK(tutti_copy(in, host, (size_t)count * sizeof *host) == 0, "copy");
    struct tutti_reduce call = {.collective = TUTTI_COLLECTIVE_ALLREDUCE,
                                .in = in,
                                .out = out,
                                .count = (size_t)count,
                                .type = TUTTI_TYPE_I32,
                                .op = TUTTI_OP_SUM,
                                .kind = TUTTI_ARRIVAL_DEVICE,
                                .gpu = -1};
    enum tutti_taken taken;
    const char *why = "?";
    int status = tutti_collective(team, &call, &taken, &why);
    CHECK(status == TUTTI_OK && strcmp(why, "ll") == 0, "%s by %s", tutti_status_text(status), why);
    CHECK(tutti_copy(host, out, (size_t)count * sizeof *host) == 0, "copy");
    for (int i = 0; i < count; i++)
        wrong += host[i] != RANKS * (3 * i + round) + RANKS * (RANKS - 1) / 2;
    return CHECK(wrong == 0, "round %d: %d of %d elements are wrong", round, wrong, count);
}

static int kept_for(const struct tutti_team *team, const void *in)
{
    int found = 0;
    for (int i = 0; i < TUTTI_KEEPS; i++)
        found += team->keep[i].calls > 0 && team->keep[i].kept && team->keep[i].flow.in == in;
    return found;
}

static int rank_main(struct tutti_transport *transport, void *with)
{
    unsigned seed = *(unsigned *)with;
    struct tutti_node *node;
    struct tutti_team *team;
    int *buffer[BUFFERS];
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node") ||
        !CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK, "team"))
        return 1;
    for (int b = 0; b < BUFFERS; b++)
        CHECK(tutti_alloc(COUNT * sizeof(int), (void **)&buffer[b]) == 0, "alloc");
    int *out = buffer[BUFFERS - 1];

    once(team, buffer[0], out, COUNT, 1);
    once(team, buffer[0], out, COUNT, 2);
    CHECK(kept_for(team, buffer[0]) == 1, "not kept after two calls");
    for (int round = 3; round < 40; round++)
        once(team, buffer[0], out, COUNT, round);
    for (int b = 1; b < TUTTI_KEEPS + 4; b++) /* each comes once */
        once(team, buffer[b], out, COUNT, b);
    CHECK(kept_for(team, buffer[0]) == 1, "driven out by buffers that came once");
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1103515245 + 12345; /* the same on all ranks */
        int b = (int)(seed >> 16) % (BUFFERS - 1), count = 1 + (int)(seed >> 8) % 3 * 300;
        if (!once(team, buffer[b], seed >> 30 ? out : buffer[b], count, round))
            break;
    }
    int kept = 0;
    for (int i = 0; i < TUTTI_KEEPS; i++)
        kept += team->keep[i].kept != NULL;
    CHECK(kept > 0, "none is kept at the end");
    transport->ops->barrier(transport);
    tutti_team_free(team);
    for (int b = 0; b < BUFFERS; b++)
        CHECK(tutti_free(buffer[b]) == 0, "free");
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1;
    setenv("TUTTI_RULES", "allreduce: *@ll", 1);
    setenv("TUTTI_RULES_FILE", "/dev/null", 1);
    printf("seed %u\n", seed);
    return tutti_threads_run(RANKS, rank_main, &seed) != 0;
}
