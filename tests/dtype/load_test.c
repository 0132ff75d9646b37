/* Packing kernels are loaded in two steps: a launch of few runs of bytes needs the first one, a launch of more jobs or
 * of elements with gaps the second. Nothing is loaded twice, and nothing while a stream waits for the host: then the
 * kernels for few messages, if they are loaded, do all in several launches. */
#include "core/status.h"
#include "dtype/pack/load.h"
#include "progress/gate.h"
#include "support/check.h"

enum { FEW = 512, MANY = 32752, RUNS = 4 };
static int prepared[8];
static char from[64], to[64];

static int fake_prepare(int gpu, int all, size_t *room)
{
    prepared[gpu]++;
    CHECK(prepared[gpu] == all + 1, "step %d is asked for as the call %d", all, prepared[gpu]);
    *room = all ? MANY : FEW;
    return TUTTI_OK;
}

static const struct tutti_device fake = {.name = "fake", .launch = {.prepare_pack = fake_prepare}};

static void load(int gpu, const struct tutti_pack_job *jobs, unsigned n, int status, size_t room, int steps,
                 const char *what)
{
    size_t got = 0;
    const int is = tutti_pack_load(&fake, gpu, jobs, n, &got);
    CHECK(is == status && (status != TUTTI_OK || got == room) && prepared[gpu] == steps,
          "%s: status %d, room %zu, %d steps; not %d, %zu, %d", what, is, got, prepared[gpu], status, room, steps);
}

int main(void)
{
    struct tutti_pack_job runs[RUNS + 1];
    for (int i = 0; i <= RUNS; i++)
        runs[i] = tutti_pack_run(to, from, sizeof to);
    load(0, runs, 1, TUTTI_OK, FEW, 1, "one run");
    load(0, runs, RUNS, TUTTI_OK, FEW, 1, "some runs");
    load(0, runs, RUNS + 1, TUTTI_OK, MANY, 2, "more runs");
    load(0, runs, 1, TUTTI_OK, MANY, 2, "one run, when all is loaded");
    load(1, runs, RUNS + 1, TUTTI_OK, MANY, 2, "more runs at once");

    struct tutti_segment segment = {.block = 8, .dims = 1, .dim = {{.count = 4, .stride = 16, .packed = 8}}};
    struct tutti_plan gaps = {.size = 32, .extent = 64, .true_end = 56, .segments = 1, .segment = &segment};
    const struct tutti_pack_job typed = {
        .direction = TUTTI_PACK, .plan = &gaps, .count = 1, .memory = from, .packed = to, .bytes = 32};
    load(2, &typed, 1, TUTTI_OK, MANY, 2, "elements with gaps");

    load(3, runs, 1, TUTTI_OK, FEW, 1, "one run before a stream waits");
    tutti_gate_step(1);
    load(3, runs, RUNS + 1, TUTTI_OK, FEW, 1, "more runs while a stream waits");
    load(4, runs, 1, TUTTI_ERR_UNAVAILABLE, 0, 0, "a GPU of which nothing is loaded, while a stream waits");
    tutti_gate_step(-1);
    load(3, runs, RUNS + 1, TUTTI_OK, MANY, 2, "more runs when it has gone on");
    return check_failed() != 0;
}
