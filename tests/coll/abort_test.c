/* Flow kernels that must be left: every wait of every algorithm in stream order ends soon after the abort word is set,
 * whether peers never came or one of them stopped in the middle. A team of threads for each case, on the host device.
 * As on a GPU, the abort word alone ends its kernels. A right sum before each case shows that the last case has left
 * nothing behind.
 * usage: abort_test ALGORITHM   (TUTTI_RULES is set from it; TUTTI_TEST_ROUNDS: of ranks that stop) */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coll/algorithm.h"
#include "coll/call/row.h"
#include "core/clock.h"
#include "core/status.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum {
    RANKS = 3,
    SMALL = 40,        /* elements of the sum before */
    LARGE = 700000,    /* of a call that is left: many rounds in a channel of 1 MiB */
    ALONE_US = 20000,  /* how long a rank waits before the test makes it leave */
    YIELDS_MOST = 100, /* of the core until it has left: each takes 50 ms beside threads that compute */
    BOUND_MS = 30000   /* then it has left; a sanitizer on a loaded machine is slow */
};

static const struct tutti_algorithm *algorithm;
static int rounds = 6;
static size_t counts[RANKS] = {LARGE / 2, 0, LARGE - LARGE / 2};
static atomic_int stopped;        /* the rank that stops has left */
static atomic_int stops;          /* the rank that meets_and_stops() names */
static atomic_int waiting[RANKS]; /* a kernel of the rank has waited */
static atomic_int met;            /* ranks whose kernels have waited, or ended, since the one that stops has waited */
static atomic_long in_the_middle; /* launches that were left after another rank had left */

/* Calls of all shapes; an algorithm is tried with those that it can run. */
static const struct tutti_call calls[] = {
    {.collective = TUTTI_COLLECTIVE_ALLREDUCE},
    {.collective = TUTTI_COLLECTIVE_REDUCE, .root = 0},
    {.collective = TUTTI_COLLECTIVE_REDUCE, .root = 1},
    {.collective = TUTTI_COLLECTIVE_REDUCE, .root = RANKS - 1},
    {.collective = TUTTI_COLLECTIVE_REDUCE_SCATTER, .counts = counts},
    {.collective = TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK},
    {.collective = TUTTI_COLLECTIVE_SCAN},
    {.collective = TUTTI_COLLECTIVE_EXSCAN},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

struct rank {
    struct tutti_node *node;
    struct tutti_transport *transport;
    struct tutti_team *team;
    struct tutti_stream *stream;
    int *in, *out;
};

/* The device, but kernels that wait look at the abort word alone, or call `look`. */
static struct tutti_device by_word, by_look;

static int launch_with(struct tutti_stream *stream, const struct tutti_launch *launch, int (*look)(void *))
{
    if (!launch->flow) /* a kernel that waits for nothing */
        return tutti_device()->launch.kernel(stream, launch);
    struct tutti_launch bare = *launch;
    struct tutti_flow_args args = *launch->flow;
    args.host_wait = look;
    bare.flow = &args;
    return tutti_device()->launch.kernel(stream, &bare);
}

static int launch_by_word(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    return launch_with(stream, launch, NULL);
}

/* In a kernel that waits. The kernel of the rank that stops stays here until its peers wait too, and leaves then. */
static int look(void *with)
{
    const struct tutti_team *team = with;
    if (!atomic_exchange(&waiting[team->rank], 1) && team->rank == atomic_load(&stops)) {
        while (atomic_load(&met) < RANKS - 1)
            usleep(200);
        __atomic_store_n(&team->words->abort, 1, __ATOMIC_RELEASE);
        return 1; /* at once: what it waits for may have arrived meanwhile */
    }
    return 0;
}

static int launch_by_look(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    return launch_with(stream, launch, look);
}

static int open_team(struct rank *me)
{
    me->team = NULL;
    me->stream = NULL;
    return CHECK(tutti_team_create(me->node, me->transport, &me->team) == TUTTI_OK, "team") &&
           CHECK(tutti_enqueue_open(me->team, -1) == TUTTI_OK, "open") &&
           CHECK(me->team->device->stream.create(me->team->gpu, &me->stream) == TUTTI_OK, "stream");
}

/* On all ranks: what was pushed to those that did not come must not be found in the next team's channel. */
static void close_team(struct rank *me)
{
    tutti_team_break(me->team, TUTTI_ERR_BROKEN);
    me->team->device->stream.destroy(me->stream);
    me->transport->ops->barrier(me->transport);
    tutti_team_free(me->team);
    me->transport->ops->barrier(me->transport);
}

static struct tutti_call call_of(const struct rank *me, int i, size_t count)
{
    struct tutti_call call = calls[i];
    call.in = me->in;
    call.out = me->out;
    call.count = call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK ? count / RANKS * RANKS : count;
    call.type = TUTTI_TYPE_I32;
    call.op = TUTTI_OP_SUM;
    call.kind = TUTTI_ARRIVAL_DEVICE;
    call.gpu = -1;
    return call;
}

static void sum_before(struct rank *me)
{
    int host[SMALL], wrong = 0;
    const char *why = "?";
    const struct tutti_call call = call_of(me, 0, SMALL);
    for (int i = 0; i < SMALL; i++)
        host[i] = i + me->team->rank;
    CHECK(tutti_copy(me->in, host, sizeof host) == 0, "copy");
    CHECK(tutti_enqueue(me->team, &call, me->stream, &why) == TUTTI_OK, "a call before");
    CHECK(me->team->device->stream.sync(me->stream) == TUTTI_OK, "the stream before");
    CHECK(tutti_copy(host, me->out, sizeof host) == 0, "copy");
    for (int i = 0; i < SMALL; i++)
        wrong += host[i] != RANKS * i + RANKS * (RANKS - 1) / 2;
    CHECK(wrong == 0, "%d elements of the sum before are wrong, by %s", wrong, why);
}

static void launch(struct rank *me, int i, const struct tutti_device *device)
{
    const struct tutti_call call = call_of(me, i, LARGE);
    me->team->device = device;
    CHECK(tutti_row_enqueue(algorithm, me->team, &call, me->stream) == TUTTI_OK, "rank %d: launch", me->team->rank);
}

static atomic_int yields;

/* Stands before libc's. */
int sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
    return (int)syscall(SYS_sched_yield);
}

static void tell_to_leave(struct rank *me)
{
    __atomic_store_n(&me->team->words->abort, 1, __ATOMIC_RELEASE);
}

static enum tutti_left left_by(const struct rank *me)
{
    return (enum tutti_left)__atomic_load_n(&me->team->words->failed, __ATOMIC_ACQUIRE);
}

/* A kernel that does not leave would keep its stream, and the test, forever. */
static void await_left(struct rank *me, int i, const char *what)
{
    const uint64_t start = tutti_now_ns();
    while (me->team->device->stream.query(me->stream) == 0) {
        if (tutti_now_ns() - start > (uint64_t)BOUND_MS * 1000000) {
            fprintf(stderr, "FAILED %s, collective %d, root %d, rank %d, %s: not left %d ms after it was told to\n",
                    algorithm->name, (int)calls[i].collective, calls[i].root, me->team->rank, what, BOUND_MS);
            _exit(1);
        }
        usleep(200);
    }
}

/* Rank `who` comes, the others do not. */
static void alone(struct rank *me, int i, int who)
{
    if (me->team->rank == who) {
        launch(me, i, &by_word);
        usleep(ALONE_US);
        CHECK(me->team->device->stream.query(me->stream) == 0, "%s, collective %d, rank %d has ended without its peers",
              algorithm->name, (int)calls[i].collective, who);
        const int before = atomic_load(&yields);
        tell_to_leave(me);
        await_left(me, i, "alone");
        const int n = atomic_load(&yields) - before;
        CHECK(n < YIELDS_MOST, "%s, collective %d, rank %d has given the core away %d times before it left",
              algorithm->name, (int)calls[i].collective, who, n);
        CHECK(left_by(me) == TUTTI_LEFT_TOLD, "%s, collective %d, rank %d: left by %d", algorithm->name,
              (int)calls[i].collective, who, (int)left_by(me));
        CHECK(tutti_team_fault(me->team) != TUTTI_OK, "the next call would not know that rank %d has left", who);
    }
    me->transport->ops->barrier(me->transport);
}

static void left_by_peer(struct rank *me, int i)
{
    tell_to_leave(me);
    await_left(me, i, "left by a peer");
    if (atomic_load(&stopped) > 0 && left_by(me) == TUTTI_LEFT_TOLD)
        atomic_fetch_add(&in_the_middle, 1);
}

/* Rank `who` comes first and waits, the others come and wait too, or end without it; then it leaves, and the others are
 * told. Whatever the machine does meanwhile, that is in the middle of the call. */
static void meets_and_stops(struct rank *me, int i, int who)
{
    const int rank = me->team->rank;
    atomic_store(&waiting[rank], 0);
    if (rank == who) {
        atomic_store(&stopped, 0);
        atomic_store(&met, 0);
        atomic_store(&stops, who);
    }
    me->transport->ops->barrier(me->transport);
    if (rank == who) {
        launch(me, i, &by_look);
        await_left(me, i, "meeting its peers");
        CHECK(atomic_load(&waiting[who]) && left_by(me) == TUTTI_LEFT_TOLD, "%s, collective %d, rank %d: left by %d",
              algorithm->name, (int)calls[i].collective, who, (int)left_by(me));
        atomic_store(&stopped, 1);
    } else {
        while (!atomic_load(&waiting[who]))
            usleep(200);
        launch(me, i, &by_look);
        while (!atomic_load(&waiting[rank]) && me->team->device->stream.query(me->stream) == 0)
            usleep(200);
        atomic_fetch_add(&met, 1);
        while (!atomic_load(&stopped))
            usleep(200);
        left_by_peer(me, i);
    }
    me->transport->ops->barrier(me->transport);
}

/* All come, rank `who` leaves after a while, whatever it is waiting for, and the others are told when they have had
 * time to need it. On a busy machine the call may have ended before. */
static void one_stops(struct rank *me, int i, int who, unsigned after_us)
{
    if (me->team->rank == 0)
        atomic_store(&stopped, 0);
    me->transport->ops->barrier(me->transport);
    launch(me, i, &by_word);
    if (me->team->rank == who) {
        usleep(after_us);
        tell_to_leave(me);
        await_left(me, i, "stopping");
        atomic_store(&stopped, left_by(me) == TUTTI_LEFT_NOT ? -1 : 1);
    } else {
        while (!atomic_load(&stopped))
            usleep(200);
        usleep(1000);
        left_by_peer(me, i);
    }
    me->transport->ops->barrier(me->transport);
}

static int can(const struct rank *me, int i)
{
    const struct tutti_call call = call_of(me, i, LARGE);
    return tutti_algorithm_can(algorithm, me->team, &call);
}

static int all_cases(struct rank *me)
{
    uint64_t dice = check_seed(); /* the same on all ranks */
    int tried = 0;
    for (int i = 0; i < CALLS; i++) {
        for (int round = 0; round < RANKS + rounds; round++) {
            const int who = round < RANKS ? round : (int)(random_next(&dice) % RANKS);
            const unsigned drawn = (unsigned)(random_next(&dice) % 8000);
            if (!open_team(me))
                return 1;
            const int does = can(me, i);
            if (does) {
                sum_before(me);
                if (round < RANKS)
                    alone(me, i, who);
                else if (round == RANKS)
                    meets_and_stops(me, i, who);
                else
                    one_stops(me, i, who, drawn);
            }
            tried += does;
            close_team(me);
            if (!does)
                break;
        }
    }
    CHECK(tried > 0, "%s runs none of the calls", algorithm->name);
    return check_failed() != 0;
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct rank me = {.transport = transport};
    (void)unused;
    if (!CHECK(tutti_node_open(transport, &me.node) == TUTTI_OK && me.node, "node") ||
        !CHECK(tutti_alloc(LARGE * sizeof(int), (void **)&me.in) == 0 &&
                   tutti_alloc(LARGE * sizeof(int), (void **)&me.out) == 0,
               "device memory"))
        return 1;
    const int failed = all_cases(&me);
    tutti_free(me.in);
    tutti_free(me.out);
    tutti_node_close(me.node);
    return failed;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "ll";
    char rules[256];
    for (int i = 0; i < TUTTI_ALGORITHMS; i++)
        algorithm = strcmp(tutti_algorithms[i]->name, name) == 0 ? tutti_algorithms[i] : algorithm;
    if (!algorithm || !tutti_row_enqueues(algorithm)) {
        fprintf(stderr, "usage: abort_test ALGORITHM, one in stream order\n");
        return 2;
    }
    rounds = (int)check_many("TUTTI_TEST_ROUNDS", rounds);
    snprintf(rules, sizeof rules, "allreduce: *@%s", name);
    setenv("TUTTI_RULES", rules, 1);
    printf("seed %llu, %s\n", (unsigned long long)check_seed(), name);
    fflush(stdout);
    by_word = *tutti_device();
    by_word.launch.kernel = launch_by_word;
    by_look = by_word;
    by_look.launch.kernel = launch_by_look;
    const int failed = tutti_threads_run(RANKS, rank_main, NULL);
    CHECK(in_the_middle > 0 || rounds == 0, "no launch of %s was left in the middle", name);
    printf("%ld checks, %ld failed, %ld launches left in the middle\n", check_done(), check_failed(), in_the_middle);
    return failed != 0 || check_failed() != 0;
}
