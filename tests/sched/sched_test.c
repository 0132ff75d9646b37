/* Schedules: random graphs of tasks that end at once or later, are put off, and fail, run again and again and on
 * several threads, compared with a plain execution in the order in which they were added. */
#include "sched/sched.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/status.h"
#include "progress/engine.h"
#include "support/check.h"
#include "support/random.h"

enum { MOST = 60, THREADS = 4 };

/* One graph and what its run has come to. */
struct graph {
    struct tutti_sched *sched;
    int n, edges;
    struct {
        int task, before;
        enum tutti_task_after what;
    } edge[MOST * 4];
    struct node {
        int later, length; /* times that it is put off; polls */
        int asked, polled, posted, ended, cancelled;
        uint64_t value; /* of itself and of those that have ended before it */
    } node[MOST];
    int clock;     /* of posts and ends */
    int fails;     /* this task fails; -1: none */
    int at_a_poll; /* when it is polled, where it is */
    int failed, wrong;
    atomic_int inside, called; /* inside: threads in an operation */
};

static void value_of(const struct graph *g, int task, const uint64_t before[], uint64_t *out)
{
    uint64_t value = random_mix((uint64_t)task);
    for (int e = 0; e < g->edges; e++) {
        if (g->edge[e].task == task && g->edge[e].what == TUTTI_AFTER_END)
            value ^= random_mix(before[g->edge[e].before] + (uint64_t)e);
    }
    *out = value;
}

static void end(struct graph *g, int task)
{
    uint64_t before[MOST];
    for (int i = 0; i < g->n; i++)
        before[i] = g->node[i].value;
    value_of(g, task, before, &g->node[task].value);
    g->node[task].ended = ++g->clock;
}

static void enter(struct graph *g, int task, int runs)
{
    g->wrong +=
        atomic_fetch_add(&g->inside, 1) != 0 || g->failed || g->node[task].ended || (g->node[task].posted != 0) != runs;
}

static int leave(struct graph *g, int answer)
{
    atomic_fetch_sub(&g->inside, 1);
    return answer;
}

static int post(void *with, uint64_t number)
{
    struct graph *g = with;
    const int task = (int)number;
    struct node *node = &g->node[task];
    enter(g, task, 0);
    if (node->asked++ < node->later)
        return leave(g, TUTTI_TASK_LATER);
    for (int e = 0; e < g->edges; e++) {
        const struct node *before = &g->node[g->edge[e].before];
        if (g->edge[e].task == task)
            g->wrong += g->edge[e].what == TUTTI_AFTER_END ? !before->ended : !before->posted;
    }
    if (task == g->fails && (!g->at_a_poll || node->length == 0)) {
        g->failed = 1;
        return leave(g, TUTTI_ERR_DEVICE);
    }
    node->posted = ++g->clock;
    if (node->length > 0)
        return leave(g, TUTTI_TASK_RUNS);
    end(g, task);
    return leave(g, TUTTI_TASK_ENDED);
}

static int poll(void *with, uint64_t number)
{
    struct graph *g = with;
    const int task = (int)number;
    struct node *node = &g->node[task];
    enter(g, task, 1);
    if (task == g->fails) {
        g->failed = 1;
        return leave(g, TUTTI_ERR_TRANSPORT);
    }
    if (++node->polled < node->length)
        return leave(g, TUTTI_TASK_RUNS);
    end(g, task);
    return leave(g, TUTTI_TASK_ENDED);
}

static void cancel(void *with, uint64_t number)
{
    ((struct graph *)with)->node[number].cancelled++;
}

static const struct tutti_task_ops ops = {.name = "test", .post = post, .poll = poll, .cancel = cancel};

static void draw(struct graph *g, uint64_t *at)
{
    *g = (struct graph){.sched = tutti_sched_new("test"), .fails = -1};
    g->n = (int)(random_next(at) % MOST);
    for (int i = 0; i < g->n; i++) {
        g->node[i].later = random_next(at) % 3 ? 0 : (int)(random_next(at) % 4);
        g->node[i].length = random_next(at) % 3 ? 0 : (int)(random_next(at) % 20);
        CHECK(tutti_sched_add(g->sched, &ops, g, (uint64_t)i) == i, "task %d has another place", i);
        for (int tries = (int)(random_next(at) % 4); i > 0 && tries > 0; tries--) {
            const int before = (int)(random_next(at) % (uint64_t)i);
            const enum tutti_task_after what = random_next(at) % 2 ? TUTTI_AFTER_END : TUTTI_AFTER_POST;
            g->edge[g->edges].task = i;
            g->edge[g->edges].before = before;
            g->edge[g->edges++].what = what;
            CHECK(tutti_sched_after(g->sched, i, before, what) == TUTTI_OK, "an edge was refused");
        }
    }
    if (g->n > 1)
        CHECK(tutti_sched_after(g->sched, 0, 1, TUTTI_AFTER_END) == TUTTI_ERR_ARGUMENT, "a cycle was taken");
}

static void reset(struct graph *g)
{
    for (int i = 0; i < g->n; i++)
        g->node[i] = (struct node){.later = g->node[i].later, .length = g->node[i].length};
    g->clock = g->failed = 0;
    atomic_store(&g->called, 0);
}

/* After a run that ended well. */
static void judge(const struct graph *g)
{
    uint64_t expected[MOST];
    for (int i = 0; i < g->n; i++) {
        value_of(g, i, expected, &expected[i]);
        CHECK(g->node[i].value == expected[i], "task %d of %d: a wrong value", i, g->n);
        CHECK(g->node[i].posted && g->node[i].ended && !g->node[i].cancelled, "task %d has not run", i);
    }
}

/* After one that did not. */
static void judge_failed(const struct graph *g)
{
    for (int i = 0; i < g->n; i++) {
        const struct node *node = &g->node[i];
        CHECK(node->cancelled == (node->posted && !node->ended && i != g->fails),
              "task %d: posted %d, ended %d, cancelled %d times", i, node->posted, node->ended, node->cancelled);
    }
}

static int run(struct graph *g)
{
    reset(g);
    tutti_sched_start(g->sched);
    const int status = tutti_sched_wait(g->sched, "for a test", 0);
    CHECK(tutti_sched_done(g->sched) && tutti_sched_status(g->sched) == status, "not done after a wait");
    CHECK(g->wrong == 0, "%d wrong turns", g->wrong);
    return status;
}

static void *graphs(void *seed)
{
    uint64_t at = *(uint64_t *)seed;
    struct graph *g = malloc(sizeof *g);
    for (int i = (int)check_many("TUTTI_TEST_ROUNDS", 200); i > 0; i--) {
        draw(g, &at);
        for (int round = 0; round < 3; round++) {
            g->fails = -1;
            CHECK(run(g) == TUTTI_OK, "a run has failed");
            judge(g);
            g->fails = g->n > 0 ? (int)(random_next(&at) % (uint64_t)g->n) : -1;
            g->at_a_poll = random_next(&at) % 2;
            if (g->fails < 0)
                continue;
            const int status = run(g);
            CHECK(status == TUTTI_ERR_DEVICE || status == TUTTI_ERR_TRANSPORT, "status %d of a run that fails", status);
            judge_failed(g);
        }
        tutti_sched_free(g->sched);
    }
    free(g);
    return NULL;
}

static void random_graphs(void **state)
{
    uint64_t seed = check_seed();
    (void)state;
    graphs(&seed);
    assert_int_equal(check_failed(), 0);
    assert_false(tutti_progress_busy());
}

/* Each thread polls the others' graphs too. */
static void on_threads(void **state)
{
    pthread_t thread[THREADS];
    uint64_t seed[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        seed[i] = check_seed() + 1 + (uint64_t)i;
        assert_int_equal(pthread_create(&thread[i], NULL, graphs, &seed[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(check_failed(), 0);
    assert_false(tutti_progress_busy());
}

/* Started again by what is called at its end, and freed by it. */
static struct graph *again;
static int runs_left;
static atomic_int gone;

static void ended(void *with, int status)
{
    struct graph *g = with;
    CHECK(status == TUTTI_OK && g == again, "status %d", status);
    judge(g);
    reset(g);
    if (runs_left-- > 0) {
        tutti_sched_start(g->sched);
        return;
    }
    tutti_sched_free(g->sched);
    atomic_store(&gone, 1);
}

static int is_gone(void *unused)
{
    (void)unused;
    return atomic_load(&gone);
}

static void calls_back(void **state)
{
    uint64_t at = check_seed() + 77;
    (void)state;
    again = malloc(sizeof *again);
    for (int i = 0; i < 50; i++) {
        draw(again, &at);
        runs_left = 5;
        atomic_store(&gone, 0);
        tutti_sched_then(again->sched, ended, again);
        tutti_sched_start(again->sched);
        assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = is_gone}), TUTTI_OK);
    }
    free(again);
    assert_int_equal(check_failed(), 0);
    assert_false(tutti_progress_busy());
}

/* A run that nothing ends is cancelled. */
static void is_cancelled(void **state)
{
    struct graph *g = calloc(1, sizeof *g);
    (void)state;
    g->sched = tutti_sched_new("test");
    g->n = 2;
    g->fails = -1;
    g->node[0].length = INT32_MAX;
    assert_int_equal(tutti_sched_add(g->sched, &ops, g, 0), 0);
    assert_int_equal(tutti_sched_add(g->sched, &ops, g, 1), 1);
    assert_int_equal(tutti_sched_after(g->sched, 1, 0, TUTTI_AFTER_END), TUTTI_OK);
    tutti_sched_cancel(g->sched, TUTTI_ERR_PEER); /* it does not run */
    assert_int_equal(tutti_sched_status(g->sched), TUTTI_OK);
    for (int round = 0; round < 3; round++) {
        reset(g);
        tutti_sched_start(g->sched);
        tutti_progress_poll();
        assert_false(tutti_sched_done(g->sched));
        tutti_sched_cancel(g->sched, TUTTI_ERR_PEER);
        assert_true(tutti_sched_done(g->sched));
        assert_int_equal(tutti_sched_status(g->sched), TUTTI_ERR_PEER);
        assert_int_equal(g->node[0].cancelled, 1);
        assert_int_equal(g->node[1].posted, 0);
    }
    tutti_sched_free(g->sched);
    free(g);
    assert_false(tutti_progress_busy());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(on_threads),
        cmocka_unit_test(calls_back),
        cmocka_unit_test(is_cancelled),
    };
    printf("seed %llu\n", (unsigned long long)check_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
