/* Workers: jobs run one at a time and in order, whichever thread runs them: the fiber of the worker, or a thread of the
 * program that takes the next job from it. worker_test [seed] by TUTTI_TEST_SEED; TUTTI_TEST_ROUNDS. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/clock.h"
#include "core/status.h"
#include "progress/engine.h"
#include "progress/fiber.h"
#include "sched/worker.h"
#include "support/check.h"
#include "support/random.h"

enum { JOBS = 5, PAUSES = 40 };

static atomic_int inside, next, mine, its; /* jobs that run; the next one's number; who has run them */

struct numbered {
    struct tutti_job job;
    int number, pauses;
    int is_held;     /* 1: it lasts until `released` */
    int puts_off;    /* 1: it leaves work behind */
    int *put_off_at; /* how often that was done */
};
static atomic_int released;

static void pause_some(int n)
{
    for (int i = 0; i < n; i++) {
        tutti_fiber_yield();
        for (int spin = 0; spin < 20; spin++)
            tutti_pause();
    }
}

static void alone_begin(void)
{
    CHECK(atomic_fetch_add(&inside, 1) == 0, "two jobs run at a time");
}

static void alone_end(void)
{
    atomic_fetch_sub(&inside, 1);
}

static void left_behind(void *with)
{
    alone_begin();
    ++*(int *)with;
    pause_some(3);
    alone_end();
}

static int released_now(void *unused)
{
    (void)unused;
    return atomic_load(&released);
}

static int run(void *with)
{
    struct numbered *n = with;
    alone_begin();
    CHECK(atomic_fetch_add(&next, 1) == n->number, "job %d runs in another's place", n->number);
    atomic_fetch_add(tutti_fiber_here() ? &its : &mine, 1);
    if (n->is_held)
        CHECK(tutti_progress_wait(&(const struct tutti_wait){.done = released_now, .seconds = 30}) == TUTTI_OK, "held");
    pause_some(n->pauses);
    alone_end();
    if (n->puts_off && !tutti_fiber_put_off(left_behind, n->put_off_at))
        left_behind(n->put_off_at);
    return -n->number;
}

static int job_is_done(void *with)
{
    return tutti_job_done(with);
}

static void await_job(struct tutti_job *job)
{
    CHECK(tutti_progress_wait(&(const struct tutti_wait){.done = job_is_done, .with = job, .seconds = 30}) == TUTTI_OK,
          "a job does not end");
}

/* Jobs are given one after the other. Meanwhile this thread takes some, each perhaps too early or too late. */
static void random_round(struct tutti_worker *worker, uint64_t *state)
{
    struct numbered jobs[JOBS];
    int left = 0, expected = 0;
    atomic_store(&next, 0);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct numbered){.job = {.run = run},
                                    .number = i,
                                    .pauses = (int)(random_next(state) % PAUSES),
                                    .puts_off = random_next(state) % 3 == 0,
                                    .put_off_at = &left};
        jobs[i].job.with = &jobs[i];
        expected += jobs[i].puts_off;
        CHECK(tutti_worker_give(worker, &jobs[i].job) == TUTTI_OK, "a fiber");
        pause_some((int)(random_next(state) % 4));
        if (random_next(state) % 2) {
            struct numbered *const tried = &jobs[random_next(state) % (unsigned)(i + 1)];
            const int was_done = tutti_job_done(&tried->job), ran = tutti_worker_run(worker, &tried->job);
            CHECK(!ran || (!was_done && tutti_job_done(&tried->job)), "a job that was taken is%s done",
                  was_done ? " already" : " not");
        }
    }
    for (int i = 0; i < JOBS; i++) {
        await_job(&jobs[i].job);
        CHECK(jobs[i].job.status == -i, "job %d ends with %d", i, jobs[i].job.status);
        CHECK(!tutti_worker_run(worker, &jobs[i].job), "a job that is done runs again");
    }
    while (atomic_load(&tutti_fibers_open) > 0) /* with what it has put off */
        sched_yield();
    CHECK(left == expected, "%d of %d times what was put off", left, expected);
}

/* While the fiber is in a job, the next one cannot be taken; nor one that is not ready, or behind another. */
static void not_yet(struct tutti_worker *worker)
{
    struct numbered jobs[3] = {{.number = 0, .is_held = 1}, {.number = 1}, {.number = 2}};
    int left = 0;
    for (int i = 0; i < 3; i++) {
        jobs[i].job = (struct tutti_job){.run = run, .with = &jobs[i]};
        jobs[i].put_off_at = &left;
    }
    atomic_store(&next, 0);
    atomic_store(&released, 0);
    CHECK(!tutti_worker_run(worker, &jobs[0].job), "a job without a place runs");
    tutti_worker_reserve(worker, &jobs[0].job);
    CHECK(!tutti_worker_run(worker, &jobs[0].job), "a job that is not ready runs");
    CHECK(tutti_worker_give(worker, &jobs[1].job) == TUTTI_OK, "a place");
    CHECK(!tutti_worker_run(worker, &jobs[1].job), "a job runs before the one before it");
    CHECK(tutti_worker_ready(worker, &jobs[0].job) == TUTTI_OK, "a fiber");
    while (atomic_load(&inside) == 0)
        sched_yield();
    CHECK(!tutti_worker_run(worker, &jobs[1].job), "a job runs beside the one before it");
    CHECK(tutti_worker_give(worker, &jobs[2].job) == TUTTI_OK, "a place");
    atomic_store(&released, 1);
    for (int i = 0; i < 3; i++)
        await_job(&jobs[i].job);
}

/* A job that this thread runs is not disturbed: others that are given meanwhile follow it. */
static struct tutti_worker *nested_worker;
static struct numbered nested[2];

static int run_and_give(void *with)
{
    const int status = run(with);
    alone_begin();
    CHECK(tutti_worker_give(nested_worker, &nested[1].job) == TUTTI_OK, "a place");
    pause_some(PAUSES * 10);
    CHECK(atomic_load(&next) == 1, "a job runs beside one that was taken");
    alone_end();
    return status;
}

static void given_meanwhile(struct tutti_worker *worker, int tries)
{
    int taken = 0, left = 0;
    nested_worker = worker;
    for (int i = 0; i < tries; i++) {
        for (int k = 0; k < 2; k++)
            nested[k] = (struct numbered){
                .job = {.run = k ? run : run_and_give, .with = &nested[k]}, .number = k, .put_off_at = &left};
        atomic_store(&next, 0);
        while (atomic_load(&tutti_fibers_open) > 0)
            sched_yield();
        CHECK(tutti_worker_give(worker, &nested[0].job) == TUTTI_OK, "a fiber");
        taken += tutti_worker_run(worker, &nested[0].job);
        await_job(&nested[0].job);
        await_job(&nested[1].job);
    }
    printf("%d of %d taken\n", taken, tries);
}

int main(void)
{
    uint64_t state = check_seed();
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 1200);
    struct tutti_worker *worker = tutti_worker_new();
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)state);
    CHECK(worker != NULL, "a worker");
    for (long i = 0; i < rounds && check_failed() == 0; i++)
        random_round(worker, &state);
    not_yet(worker);
    given_meanwhile(worker, 200);
    CHECK(atomic_load(&mine) > 0 && atomic_load(&its) > 0, "%d jobs by this thread, %d by the worker",
          atomic_load(&mine), atomic_load(&its));
    tutti_worker_end(worker);
    tutti_fibers_end();
    printf("%ld checks, %ld failed; %d jobs by this thread, %d by the worker\n", check_done(), check_failed(),
           atomic_load(&mine), atomic_load(&its));
    return check_failed() != 0;
}
