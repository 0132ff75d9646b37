/* Workers: jobs run one at a time and in order, whichever thread makes the turns of their fibers: the engine's, or one
 * of the program; the thread may change wherever a job waits. worker_test [seed] by TUTTI_TEST_SEED; TUTTI_TEST_ROUNDS.
 */
#include <pthread.h>
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

static atomic_int inside, next; /* jobs that run; the next one's number */
static atomic_int mine, its;    /* pauses of jobs after which this thread continued them, and the engine's */
static pthread_t program;

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
        atomic_fetch_add(pthread_equal(pthread_self(), program) ? &mine : &its, tutti_fiber_here() != NULL);
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
    CHECK(tutti_fiber_here() != NULL, "job %d runs in no fiber", n->number);
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

/* Turns of this thread: single ones, or as a wait makes them. */
static void make_turns(int n, int drives)
{
    int driving = 0;
    for (int i = 0; i < n; i++)
        (void)(drives ? tutti_fibers_drive(&driving, 1) : tutti_fibers_turn());
    tutti_fibers_leave(&driving);
}

/* Jobs are given one after the other. Meanwhile this thread makes some of their turns. */
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
        make_turns((int)(random_next(state) % 12), random_next(state) % 2 == 0);
    }
    for (int i = 0; i < JOBS; i++) {
        await_job(&jobs[i].job);
        CHECK(jobs[i].job.status == -i, "job %d ends with %d", i, jobs[i].job.status);
    }
    while (atomic_load(&tutti_fibers_open) > 0) /* with what it has put off */
        sched_yield();
    CHECK(left == expected, "%d of %d times what was put off", left, expected);
}

/* A job that runs keeps those behind it, in turns of any thread. */
static void not_beside(struct tutti_worker *worker)
{
    struct numbered jobs[2] = {{.number = 0, .is_held = 1}, {.number = 1}};
    int left = 0;
    for (int i = 0; i < 2; i++) {
        jobs[i].job = (struct tutti_job){.run = run, .with = &jobs[i]};
        jobs[i].put_off_at = &left;
    }
    atomic_store(&next, 0);
    atomic_store(&released, 0);
    CHECK(tutti_worker_give(worker, &jobs[0].job) == TUTTI_OK, "a fiber");
    while (atomic_load(&inside) == 0)
        make_turns(1, 0);
    CHECK(tutti_worker_give(worker, &jobs[1].job) == TUTTI_OK, "a place");
    make_turns(20, 1);
    CHECK(atomic_load(&next) == 1, "a job runs beside the one before it");
    atomic_store(&released, 1);
    for (int i = 0; i < 2; i++)
        await_job(&jobs[i].job);
}

int main(void)
{
    uint64_t state = check_seed();
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 1200);
    struct tutti_worker *worker = tutti_worker_new();
    program = pthread_self();
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)state);
    CHECK(worker != NULL, "a worker");
    for (long i = 0; i < rounds && check_failed() == 0; i++)
        random_round(worker, &state);
    not_beside(worker);
    CHECK(atomic_load(&mine) > 0 && atomic_load(&its) > 0, "%d pauses ended by this thread, %d by the engine's",
          atomic_load(&mine), atomic_load(&its));
    tutti_worker_end(worker);
    tutti_fibers_end();
    printf("%ld checks, %ld failed; %d pauses ended by this thread, %d by the engine's\n", check_done(), check_failed(),
           atomic_load(&mine), atomic_load(&its));
    return check_failed() != 0;
}
