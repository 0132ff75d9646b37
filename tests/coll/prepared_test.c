/* Kernels are made ready before the call in which they are launched, and few that are not launched. Threads with a team
 * each, over the host device, whose launches are looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "coll/state.h"
#include "core/status.h"
#include "device/device.h"
#include "support/check.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 3, MOST = 300000 };

static struct tutti_device watched;
static _Thread_local uint32_t ready[TUTTI_TYPES][TUTTI_OPS];
static _Thread_local int made, launched;

static int make_ready(int gpu, uint32_t kernels, int type, int op)
{
    (void)gpu;
    CHECK((ready[type][op] & kernels) == 0, "kernels %x of type %d, operator %d are made ready again", kernels, type,
          op);
    ready[type][op] |= kernels;
    made += __builtin_popcount(kernels);
    return TUTTI_OK;
}

static int launch(struct tutti_stream *stream, const struct tutti_launch *what)
{
    CHECK(ready[what->type][what->op] >> what->kernel & 1, "kernel %d of type %d, operator %d is not ready",
          (int)what->kernel, what->type, what->op);
    launched++;
    return tutti_device()->launch.kernel(stream, what);
}

static void call(struct tutti_team *team, enum tutti_collective collective, int *in, int *out, size_t count, int op)
{
    struct tutti_call it = {.collective = collective,
                            .in = in,
                            .out = collective == TUTTI_COLLECTIVE_REDUCE && team->rank > 0 ? NULL : out,
                            .count = count,
                            .type = TUTTI_TYPE_I32,
                            .op = op,
                            .kind = TUTTI_ARRIVAL_DEVICE,
                            .gpu = -1};
    enum tutti_reduce_outcome taken;
    const char *why = "?";
    const int status = tutti_reduce_run(team, &it, &taken, &why);
    CHECK(status == TUTTI_OK && taken == TUTTI_REDUCE_DONE, "collective %d of %zu: %s, %s", (int)collective, count,
          tutti_status_text(status), why);
}

static int rank_main(struct tutti_transport *transport, void *with)
{
    static const enum tutti_collective calls[] = {TUTTI_COLLECTIVE_ALLREDUCE, TUTTI_COLLECTIVE_REDUCE,
                                                  TUTTI_COLLECTIVE_SCAN};
    static const size_t counts[] = {1, 1000, 30000, MOST};
    static const int ops[] = {TUTTI_OP_SUM, TUTTI_OP_MAX};
    struct tutti_node *node;
    struct tutti_team *team;
    int *in = NULL, *out = NULL;
    (void)with;
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node") ||
        !CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK, "team"))
        return 1;
    CHECK(tutti_alloc(MOST * sizeof *in, (void **)&in) == 0 && tutti_alloc(MOST * sizeof *out, (void **)&out) == 0,
          "alloc");
    call(team, TUTTI_COLLECTIVE_ALLREDUCE, in, out, 1, TUTTI_OP_SUM); /* opens the team */
    team->device = &watched;
    call(team, TUTTI_COLLECTIVE_ALLREDUCE, in, out, 2, TUTTI_OP_SUM);
    CHECK(made <= 2, "%d kernels are made ready for a call of two elements", made);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls * 4 * 2; i++)
            call(team, calls[i / 8], in, out, counts[i % 4], ops[i / 4 % 2]);
    }
    CHECK(launched > 0 || !team->leader, "nothing was launched");
    team->device = tutti_device();
    transport->ops->barrier(transport);
    tutti_team_free(team);
    CHECK(tutti_free(in) == 0 && tutti_free(out) == 0, "free");
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(void)
{
    setenv("TUTTI_RULES_FILE", "/dev/null", 1);
    watched = *tutti_device();
    watched.launch.prepare = make_ready;
    watched.launch.kernel = launch;
    watched.launch.keep = NULL; /* each launch is seen */
    return tutti_threads_run(RANKS, rank_main, NULL) != 0;
}
