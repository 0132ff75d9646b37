/* Repeated launches are prepared: right results with any contents of the buffers, through evictions and changes
 * of size and of the call (reductions to all, and both kinds of scan, over the same buffers), and buffers
 * that are used once do not evict those in use. Threads with a team each. argv[1]: seed. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "coll/job.h"
#include "coll/launch/cache.h"
#include "coll/state.h"
#include "coll/sums.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "team/deferred_free.h"
#include "tutti/tutti.h"

/* PHASE: rounds in most of which one launch is repeated, so that it is kept. */
enum { RANKS = 3, BUFFERS = 3 * TUTTI_CACHED_LAUNCHES, COUNT = 700, PHASE = 3 * TUTTI_LAUNCH_SEEN, ROUNDS = 8 * PHASE };

/* What rank r brings. */
static int value_of(int r, int round, int i)
{
    return i * 3 + r + round;
}

/* What this rank must get: its `depth` first ranks combined; of none, what was there before. */
static int result_of(const struct tutti_team *team, enum tutti_collective collective, int round, int i, int before)
{
    const int depth = collective == TUTTI_COLLECTIVE_SCAN     ? team->rank + 1
                      : collective == TUTTI_COLLECTIVE_EXSCAN ? team->rank
                                                              : team->size;
    int sum = 0;
    for (int r = 0; r < depth; r++)
        sum += value_of(r, round, i);
    return depth ? sum : before;
}

static int once_of(struct tutti_team *team, enum tutti_collective collective, int *in, int *out, int count, int round)
{
    int host[COUNT], before[COUNT], wrong = 0;
    for (int i = 0; i < count; i++)
        host[i] = value_of(team->rank, round, i);
    CHECK(tutti_copy(in, host, (size_t)count * sizeof *host) == 0, "copy");
    CHECK(tutti_copy(before, out, (size_t)count * sizeof *host) == 0, "copy");
    struct tutti_call call = sum_call(collective, in, out, (size_t)count);
    enum tutti_reduce_outcome taken;
    const char *why = "?";
    int status = tutti_reduce_run(team, &call, &taken, &why);
    CHECK(status == TUTTI_OK && strcmp(why, "ll") == 0, "%s by %s", tutti_status_text(status), why);
    CHECK(tutti_copy(host, out, (size_t)count * sizeof *host) == 0, "copy");
    for (int i = 0; i < count; i++)
        wrong += host[i] != result_of(team, collective, round, i, before[i]);
    return CHECK(wrong == 0, "collective %d, round %d: %d of %d elements are wrong", (int)collective, round, wrong,
                 count);
}

static int once(struct tutti_team *team, int *in, int *out, int count, int round)
{
    return once_of(team, TUTTI_COLLECTIVE_ALLREDUCE, in, out, count, round);
}

static int prepared_for(const struct tutti_team *team, const void *in)
{
    int found = 0;
    for (int i = 0; i < TUTTI_CACHED_LAUNCHES; i++)
        found += tutti_coll_of(team)->launch_cache[i].calls > 0 && tutti_coll_of(team)->launch_cache[i].prepared &&
                 tutti_coll_of(team)->launch_cache[i].flow.in == in;
    return found;
}

/* The same buffers and the same count, by turns in different calls: each has a launch of its own. */
static void by_turns(struct tutti_team *team, int *in, int *out)
{
    static const enum tutti_collective calls[] = {TUTTI_COLLECTIVE_SCAN, TUTTI_COLLECTIVE_EXSCAN,
                                                  TUTTI_COLLECTIVE_ALLREDUCE};
    enum { CALLS = sizeof calls / sizeof calls[0], TURNS = TUTTI_LAUNCH_SEEN + 4 };
    for (int round = 0; round < CALLS * TURNS; round++)
        once_of(team, calls[round % CALLS], in, out, COUNT, round);
    CHECK(prepared_for(team, in) == CALLS, "%d launches are kept of %d calls by turns", prepared_for(team, in), CALLS);
    for (int round = 0; round < 2 * TURNS; round++) /* a scan in place: what was there is the contribution */
        once_of(team, calls[round % 2], out, out, COUNT, round);
    CHECK(prepared_for(team, out) == 2, "%d launches are kept of two scans in place", prepared_for(team, out));
}

/* While communicators with a stream live, launches that are kept serve, and others are made afresh. */
static void held(struct tutti_node *node, struct tutti_team *team, int *kept, int *fresh, int *out)
{
    enum { TURNS = TUTTI_LAUNCH_SEEN + 5 };
    const uint64_t before = tutti_coll_of(team)->launches_held;
    for (int round = 1; round <= TUTTI_LAUNCH_SEEN; round++)
        once(team, kept, out, COUNT, round);
    const int was = prepared_for(team, fresh);
    tutti_deferred_free_hold(node);
    for (int round = 0; round < TURNS; round++) {
        once(team, kept, out, COUNT, round);
        once(team, fresh, out, COUNT - 1, round);
    }
    CHECK(tutti_coll_of(team)->launches_held == before + TURNS, "%llu of %d launches were kept ones",
          (unsigned long long)(tutti_coll_of(team)->launches_held - before), TURNS);
    CHECK(prepared_for(team, fresh) == was, "a launch was made ready while streams live");
    tutti_deferred_free_release(node);
}

/* ---- jobs of a worker ---- */

/* The job of each rank after which its launch is made ready, and how often that has happened. */
static struct {
    const struct tutti_stream *stream;
    const struct tutti_job *job;
    atomic_int kept;
} at_work[RANKS];

static int keep_afterwards(struct tutti_stream *stream, const struct tutti_launch *launch, struct tutti_prepared **out)
{
    for (int r = 0; r < RANKS; r++) {
        if (at_work[r].stream != stream)
            continue;
        CHECK(tutti_job_done(at_work[r].job), "a launch is made ready while the rank waits for its call");
        at_work[r].kept++;
    }
    return tutti_device()->launch.keep(stream, launch, out);
}

/* A nonblocking call does not wait until its launch is ready. */
static void by_worker(struct tutti_team *team, int *in, int *out)
{
    enum { CALLS = TUTTI_LAUNCH_SEEN + 6 };
    struct tutti_call call = sum_call(TUTTI_COLLECTIVE_ALLREDUCE, in, out, COUNT);
    struct tutti_reduce_job *const jobs = calloc(CALLS, sizeof *jobs);
    struct tutti_worker *const worker = tutti_worker_new();
    int host[COUNT];
    once(team, in, out, COUNT, 0); /* opens the team */
    const struct tutti_device *const device = team->device;
    struct tutti_device between = *device;
    at_work[team->rank].stream = team->stream;
    at_work[team->rank].job = &jobs[TUTTI_LAUNCH_SEEN - 2].job;
    between.launch.keep = keep_afterwards;
    team->device = &between;
    for (int round = 0; round < CALLS; round++) {
        struct tutti_reduce_job *const job = &jobs[round];
        int wrong = 0;
        for (int i = 0; i < COUNT; i++)
            host[i] = value_of(team->rank, round, i);
        CHECK(tutti_copy(in, host, sizeof host) == 0, "copy");
        *job = (struct tutti_reduce_job){.team = team, .call = &call};
        CHECK(tutti_reduce_give(worker, job) == TUTTI_OK, "a job is not taken");
        while (!tutti_job_done(&job->job))
            sched_yield();
        CHECK(job->job.status == TUTTI_OK && tutti_copy(host, out, sizeof host) == 0, "job %d failed", round);
        for (int i = 0; i < COUNT; i++)
            wrong += host[i] != result_of(team, call.collective, round, i, 0);
        CHECK(wrong == 0, "job %d: %d elements are wrong", round, wrong);
    }
    tutti_worker_end(worker);
    team->device = device;
    CHECK(at_work[team->rank].kept == 1 && prepared_for(team, in) == 1, "%d launches of jobs were made ready",
          at_work[team->rank].kept);
    free(jobs);
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
    int *out = buffer[BUFFERS - 1], *last = buffer[BUFFERS - 2]; /* last: not yet called with */
    by_worker(team, buffer[BUFFERS - 3], out);

    for (int round = 1; round < TUTTI_LAUNCH_SEEN; round++)
        once(team, buffer[0], out, COUNT, round);
    CHECK(prepared_for(team, buffer[0]) == 0, "kept after few calls");
    once(team, buffer[0], out, COUNT, TUTTI_LAUNCH_SEEN);
    CHECK(prepared_for(team, buffer[0]) == 1, "not kept after %d calls", TUTTI_LAUNCH_SEEN);
    for (int round = 3; round < 40; round++)
        once(team, buffer[0], out, COUNT, round);
    for (int b = 1; b < TUTTI_CACHED_LAUNCHES + 4; b++) /* each comes once */
        once(team, buffer[b], out, COUNT, b);
    CHECK(prepared_for(team, buffer[0]) == 1, "driven out by buffers that came once");
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1103515245 + 12345; /* the same on all ranks */
        const int drawn = round % 5 == 0, b = drawn ? (int)(seed >> 16) % (BUFFERS - 2) : round / PHASE % (BUFFERS - 2);
        const int count = 1 + (drawn ? (int)(seed >> 8) % 3 : 1) * 300;
        if (!once(team, buffer[b], (drawn ? (int)(seed >> 30) : round / PHASE % 3) ? out : buffer[b], count, round))
            break;
    }
    int prepared = 0;
    for (int i = 0; i < TUTTI_CACHED_LAUNCHES; i++)
        prepared += tutti_coll_of(team)->launch_cache[i].prepared != NULL;
    CHECK(prepared > 0, "none is kept at the end");
    by_turns(team, last, out);
    held(node, team, buffer[0], buffer[1], out);
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
    setenv("TUTTI_RULES", "allreduce: *@ll scan: *@ll", 1);
    setenv("TUTTI_RULES_FILE", "/dev/null", 1);
    printf("seed %u\n", seed);
    return tutti_threads_run(RANKS, rank_main, &seed) != 0;
}
