/* The answer how GPUs are linked comes while calls go on: all ranks change to lines of 128 bytes at one call, whose
 * kernels are made ready before it, and each result is right. Now and then a rank brings host memory and waits for no
 * other, or a rank is late. Threads with teams over the host device, whose launches are looked at. */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coll/coll.h"
#include "coll/sums.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/device.h"
#include "rules/rules.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 3, MOST = 3000, TEAMS = 16, CALLS = 40, CALLS_FIRST = 260 };

static atomic_int known;
static const char *by[RANKS][CALLS_FIRST];
static _Thread_local uint32_t ready[TUTTI_TYPES][TUTTI_OPS];
static int (*launch_kernel)(struct tutti_stream *stream, const struct tutti_launch *launch);

static int fake_lines(const unsigned char one[16], const unsigned char other[16])
{
    return memcmp(one, other, 16) != 0;
}

static int fake_ready(const unsigned char (*gpus)[16], int n, int ask)
{
    (void)gpus;
    (void)ask;
    return n < 2 || atomic_load(&known);
}

static int make_ready(int gpu, uint32_t kernels, int type, int op)
{
    (void)gpu;
    ready[type][op] |= kernels;
    return TUTTI_OK;
}

static int launch(struct tutti_stream *stream, const struct tutti_launch *what)
{
    CHECK(ready[what->type][what->op] >> what->kernel & 1, "kernel %d is not ready", (int)what->kernel);
    return launch_kernel(stream, what);
}

/* The device's table is constant. */
static int device_watch(void)
{
    struct tutti_device *const device = (struct tutti_device *)(uintptr_t)tutti_device();
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)device / page * page;
    if (mprotect((void *)begin, (uintptr_t)(device + 1) - begin, PROT_READ | PROT_WRITE) != 0)
        return 0;
    launch_kernel = device->launch.kernel;
    device->gpu.lines = fake_lines;
    device->gpu.ready = fake_ready;
    device->launch.prepare = make_ready;
    device->launch.kernel = launch;
    device->launch.keep = NULL; /* each launch is seen */
    return 1;
}

static const char *sum(struct tutti_team *team, int *in, int *out, size_t count)
{
    static _Thread_local int host[MOST];
    struct tutti_call it = sum_call(TUTTI_COLLECTIVE_ALLREDUCE, in, out, count);
    enum tutti_reduce_outcome taken = TUTTI_REDUCE_DECLINED;
    const char *why = "?";
    int wrong = 0;
    it.host_ok = 1;
    CHECK(tutti_reduce_run(team, &it, &taken, &why) == TUTTI_OK, "a call of rank %d: %s", team->rank, why);
    if (taken != TUTTI_REDUCE_DONE)
        return "the MPI";
    CHECK(tutti_copy(host, out, count * sizeof *host) == 0, "copy");
    for (size_t i = 0; i < count; i++)
        wrong += host[i] != RANKS * (int)i + RANKS * (RANKS - 1) / 2;
    CHECK(wrong == 0, "%d of %zu elements are wrong, by %s", wrong, count, why);
    return why;
}

/* All ranks draw alike, but for who is late. */
static void call_some(struct tutti_team *team, int *in, int *out, int calls, int from, uint64_t dice)
{
    for (int call = 0; call < calls; call++) {
        const size_t count = random_next(&dice) % 4 ? 500 : 1 + (size_t)(random_next(&dice) % MOST);
        const int host = random_next(&dice) % 5 ? -1 : (int)(random_next(&dice) % RANKS);
        const int late = (int)(random_next(&dice) % (2 * RANKS));
        for (int i = 0; i < 3 && late == team->rank && calls == CALLS; i++)
            sched_yield();
        if (call == from && team->rank == 1)
            atomic_store(&known, 1);
        if (host == team->rank) {
            tutti_team_announce(team, TUTTI_COLLECTIVE_ALLREDUCE, TUTTI_TYPE_I32, TUTTI_OP_SUM, count, 0);
            by[team->rank][call] = "the MPI";
        } else {
            by[team->rank][call] = sum(team, in, out, count);
        }
    }
}

static void compare(int calls, int changes)
{
    int lines = 0;
    for (int call = 0; call < calls; call++) {
        for (int r = 1; r < RANKS; r++)
            CHECK(strcmp(by[r][call], by[0][call]) == 0, "call %d: rank %d by %s, rank 0 by %s", call, r, by[r][call],
                  by[0][call]);
        CHECK(!lines || strcmp(by[0][call], "ll") != 0, "call %d without lines, after one in lines", call);
        lines |= strcmp(by[0][call], "ll128") == 0;
    }
    CHECK(lines == changes, "lines %d, not %d", lines, changes);
}

static int rank_main(struct tutti_transport *transport, void *with)
{
    struct tutti_node *node;
    int *in = NULL, *out = NULL, host[MOST];
    (void)with;
    if (!CHECK(tutti_node_open(transport, &node) == TUTTI_OK && node, "node"))
        return 1;
    CHECK(tutti_alloc(sizeof host, (void **)&in) == 0 && tutti_alloc(sizeof host, (void **)&out) == 0, "alloc");
    for (int i = 0; i < MOST; i++)
        host[i] = i + transport->rank;
    CHECK(tutti_copy(in, host, sizeof host) == 0, "copy");
    for (int t = 0; t < TEAMS && check_failed() == 0; t++) {
        struct tutti_team *team;
        const int calls = t == 0 ? CALLS_FIRST : CALLS; /* nothing is asked before many calls */
        uint64_t dice = random_mix((uint64_t)(unsigned)t + 1);
        const int from = (int)(random_next(&dice) % (CALLS / 2));
        if (!CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK, "team"))
            return 1;
        CHECK(strcmp(sum(team, in, out, 10), "ll") == 0, "the first call of team %d", t);
        call_some(team, in, out, calls, t == 0 ? calls : from, dice);
        transport->ops->barrier(transport);
        if (transport->rank == 0) {
            compare(calls, t > 0);
            atomic_store(&known, 0);
        }
        transport->ops->barrier(transport);
        tutti_team_free(team);
    }
    CHECK(tutti_free(in) == 0 && tutti_free(out) == 0, "free");
    transport->ops->barrier(transport);
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(void)
{
    setenv("TUTTI_RULES", "allreduce: *@ll128 *@ll", 1);
    if (!tutti_device() || !device_watch())
        return 2;
    return tutti_threads_run(RANKS, rank_main, NULL) != 0;
}
