/* Ranks that die or stop at a bad time. Ranks are processes; survivors must return TUTTI_ERR_PEER within 10 s, in any
 * wait, and nothing may be left on the machine. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/types.h"
#include "kit.h"
#include "support/random.h"
#include "tutti/tutti.h"

enum { BOUND = 40 }; /* seconds: what ends at all ends long before, on a loaded machine too */
enum where { IN_AWAIT, IN_VOTE, IN_DONE, IN_MAP, IN_KERNEL, PLACES };
static const char *const places[PLACES] = {"await", "vote", "done", "map", "kernel"};

struct plan {
    uint64_t nonce; /* written by the ranks: plans lie in memory that they share */
    enum where where;
    int victim;
    int calls;      /* that go well before */
    unsigned delay; /* of the death, in microseconds */
};

/* One float from each rank, summed by the GPUs. Returns the status; a sum that is wrong is counted. */
static int sum(struct tutti_team *team, float *in, float *out)
{
    struct tutti_kernel_args args = {
        .count = 1,
        .ranks = (uint32_t)team->size,
        .outs = 1,
        .gpus = (uint32_t)team->gpus,
        .gpu = (uint32_t)team->gpu_index,
        .locals = 1,
        .epoch = ++team->epoch,
        .blocks = 1,
        .finished = ++team->finished,
        .slot_bytes = 256,
        .slots = sizeof(struct tutti_channel_flags) + (team->epoch & 1 ? 65536 : 0),
        .abort = &team->words_device->abort,
        .done = &team->words_device->done,
        .where = &team->words_device->where,
        .host_wait = tutti_team_host_wait,
        .host_wait_with = team,
    };
    args.local[0] = (uint16_t)team->rank;
    args.in[team->rank] = in;
    args.out[0] = out;
    memcpy(args.window, team->window, sizeof args.window);
    struct tutti_launch launch = {
        .kernel = TUTTI_KERNEL_ONESHOT, .type = TUTTI_TYPE_F32, .op = TUTTI_OP_SUM, .blocks = 1, .args = &args};
    int status = team->device->launch.kernel(team->stream, &launch);
    if (status == TUTTI_OK)
        status = tutti_team_await_kernel(team, team->epoch);
    if (status != TUTTI_OK)
        return status;
    float result = 0, expected = (float)(team->size * (team->size + 1) / 2);
    CHECK(tutti_copy(&result, out, sizeof result) == 0 && result == expected, "sum %g", (double)result);
    return TUTTI_OK;
}

struct buffers {
    float *in, *out;
};

static void buffers_init(struct buffers *b, int rank)
{
    float mine = (float)(rank + 1);
    CHECK(tutti_alloc(4096, (void **)&b->in) == 0 && tutti_alloc(4096, (void **)&b->out) == 0, "alloc");
    CHECK(tutti_copy(b->in, &mine, sizeof mine) == 0, "copy");
}

/* One call of all the steps; the victim leaves at `where` and never returns. */
static int steps(struct tutti_team *team, struct buffers *b, enum where last, int dies, unsigned delay)
{
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    struct tutti_arrival mine = kit_call(1);
    uint32_t least;
    int agreed = 0, status = TUTTI_OK;
    for (int at = IN_AWAIT; at <= (int)last && status == TUTTI_OK; at++) {
        if (dies && at == (int)last) {
            kit_sleep_us(delay);
            raise(SIGKILL);
        }
        switch ((enum where)at) {
        case IN_AWAIT:
            tutti_team_arrive(team, &mine);
            status = tutti_team_await(team, all);
            break;
        case IN_VOTE:
            status = tutti_team_vote(team, 1, &least);
            break;
        case IN_DONE:
            tutti_team_done(team, TUTTI_OK);
            status = tutti_team_await_done(team, UINT64_MAX >> (64 - team->size));
            break;
        case IN_MAP: {
            struct tutti_shares *record = tutti_team_shares(team, team->rank);
            tutti_team_share(team, b->in, &record->in);
            tutti_team_share(team, b->out, &record->out);
            status = tutti_team_vote(team, 1, &least);
            if (status == TUTTI_OK)
                status = tutti_team_map(team, UINT64_MAX, NULL, in, out, &agreed);
            break;
        }
        case IN_KERNEL:
            status = sum(team, b->in, b->out);
            break;
        case PLACES:
            break;
        }
    }
    return status;
}

static int open_kit(struct tutti_transport *transport, struct kit *kit, struct buffers *b)
{
    if (!kit_open(transport, kit) || kit_meet(kit->team, 1) != TUTTI_OK)
        return 0;
    CHECK(tutti_team_open(kit->team, -1) == TUTTI_OK, "open");
    CHECK(kit->team->state == TUTTI_TEAM_OPEN, "not open: %s", kit->team->why);
    buffers_init(b, transport->rank);
    return check_failed() == 0;
}

static int die(struct tutti_transport *transport, void *arg)
{
    struct plan *plan = arg;
    struct kit kit;
    struct buffers b;
    if (!open_kit(transport, &kit, &b))
        return 1;
    if (transport->rank == plan->victim)
        plan->nonce = kit.node->nonce[0];
    for (int i = 0; i < plan->calls; i++)
        CHECK(steps(kit.team, &b, (enum where)(i % PLACES), 0, 0) == TUTTI_OK, "call %d", i);
    uint64_t start = tutti_now_ns();
    int status = steps(kit.team, &b, plan->where, transport->rank == plan->victim, plan->delay);
    double seconds = (double)(tutti_now_ns() - start) * 1e-9;
    CHECK(status == TUTTI_ERR_PEER, "in %s: %s", places[plan->where], tutti_status_text(status));
    CHECK(seconds < BOUND, "in %s: %.1f s", places[plan->where], seconds);
    CHECK(kit.team->state == TUTTI_TEAM_BROKEN, "broken");
    CHECK(kit_meet(kit.team, 1) == TUTTI_ERR_BROKEN, "stays broken");
    start = tutti_now_ns();
    kit_close(&kit);
    seconds = (double)(tutti_now_ns() - start) * 1e-9;
    CHECK(seconds < BOUND, "closing took %.1f s", seconds);
    return check_failed() != 0;
}

/* Sockets of the node whose nonce this is. */
static int sockets_left(uint64_t nonce)
{
    FILE *names = fopen("/proc/net/unix", "r");
    char line[512], mark[32];
    int n = 0;
    snprintf(mark, sizeof mark, "@tutti-%016llx", (unsigned long long)nonce);
    while (names && fgets(line, sizeof line, names))
        n += strstr(line, mark) != NULL;
    if (names)
        fclose(names);
    return n;
}

static void killed(void **state)
{
    (void)state;
    long rounds = check_many("TUTTI_TEST_KILLS", 10);
    uint64_t random = check_seed();
    struct plan *plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(plan, MAP_FAILED);
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)random);
    for (long i = 0; i < rounds; i++) {
        int ranks = 2 + (int)(random_next(&random) % 3), ended[8];
        *plan = (struct plan){.where = (enum where)(i % PLACES),
                              .victim = (int)(random_next(&random) % (unsigned)ranks),
                              .calls = (int)(random_next(&random) % 8),
                              .delay = (unsigned)(random_next(&random) % 20000)};
        tutti_forks_run(ranks, die, plan, ended);
        assert_true(plan->nonce != 0);
        assert_int_equal(sockets_left(plan->nonce), 0);
        for (int r = 0; r < ranks; r++) {
            if (ended[r] != (r == plan->victim ? -SIGKILL : 0))
                fail_msg("round %ld, %d ranks, killed %d in %s: rank %d ended with %d", i, ranks, plan->victim,
                         places[plan->where], r, ended[r]);
        }
    }
    munmap(plan, sizeof *plan);
}

static void *continue_later(void *pid)
{
    kit_sleep_us(3000000);
    CHECK(kill((pid_t)(intptr_t)pid, SIGCONT) == 0, "continue");
    return NULL;
}

/* Rank 0 stops rank 1 for three seconds somewhere in a row of calls: nothing but time is lost. */
static int stop(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    struct buffers b;
    pthread_t later;
    int waiter = *(const int *)arg; /* 1: the rank that is stopped is one that waits, longer than the limit */
    setenv("TUTTI_TIMEOUT_SECONDS", waiter ? "2" : "60", 1);
    if (!open_kit(transport, &kit, &b))
        return 1;
    intptr_t pid = kit.node->peer[1].pid;
    for (int i = 0; i < 300; i++) {
        if (transport->rank == 0 && i == 150 && waiter) {
            kit_sleep_us(20000); /* it waits for this rank by now */
            CHECK(kill((pid_t)pid, SIGSTOP) == 0, "stop");
            continue_later((void *)pid);
        } else if (transport->rank == 0 && i == 150) {
            CHECK(kill((pid_t)pid, SIGSTOP) == 0, "stop");
            CHECK(pthread_create(&later, NULL, continue_later, (void *)pid) == 0, "thread");
        }
        int status = steps(kit.team, &b, IN_KERNEL, 0, 0);
        if (!CHECK(status == TUTTI_OK, "call %d: %s", i, tutti_status_text(status)))
            break;
    }
    if (transport->rank == 0 && !waiter)
        pthread_join(later, NULL);
    transport->ops->barrier(transport);
    kit_close(&kit);
    return check_failed() != 0;
}

static void stopped(void **state)
{
    (void)state;
    for (int waiter = 0; waiter < 2; waiter++)
        assert_int_equal(tutti_forks_run(2, stop, &waiter, NULL), 0);
    int waiter = 0;
    assert_int_equal(tutti_forks_run(3, stop, &waiter, NULL), 0);
}

/* A rank that closes its node in good order while another waits for it is named as such. */
static int leave(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(kit_meet(kit.team, 1) == TUTTI_OK, "call");
    if (transport->rank == 0) {
        kit_close(&kit);
        return check_failed() != 0;
    }
    kit_capture_begin();
    int status = kit_meet(kit.team, 2);
    char *text = kit_capture_end();
    CHECK(status == TUTTI_ERR_PEER, "%s", tutti_status_text(status));
    CHECK(strstr(text, "has finalized while rank 1 waited for it in call 2") != NULL, "said: %s", text);
    free(text);
    kit_close(&kit);
    return check_failed() != 0;
}

static void left(void **state)
{
    (void)state;
    assert_int_equal(tutti_forks_run(2, leave, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed),
        cmocka_unit_test(stopped),
        cmocka_unit_test(left),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || kit_count_names("/dev/shm", "tutti") != 0;
}
