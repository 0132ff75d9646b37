/* The progress engine: every waiting thread polls what is open, also inside a wait that a step makes, on several
 * threads; waits end by what they wait for, by a failure, by their time or by a death. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/status.h"
#include "progress/engine.h"

/* A step that is done after so many polls. */
static atomic_int left, polls, deepest;
static __thread int depth;
static void count_down(void);
static struct tutti_step counting = {.name = "countdowns", .poll = count_down};

static void count_down(void)
{
    if (++depth > atomic_load(&deepest))
        atomic_store(&deepest, depth);
    atomic_fetch_add(&polls, 1);
    if (atomic_fetch_sub(&left, 1) == 1)
        tutti_step_close(&counting);
    tutti_progress_poll(); /* nothing below a poll */
    depth--;
}

static void begin(int n)
{
    atomic_store(&left, n);
    atomic_store(&polls, 0);
    atomic_store(&deepest, 0);
    tutti_progress_add(&counting);
    tutti_step_open(&counting);
}

static int none_left(void *unused)
{
    (void)unused;
    return atomic_load(&left) <= 0;
}

static int never(void *unused)
{
    (void)unused;
    return 0;
}

static void waits_bring_on(void **state)
{
    (void)state;
    tutti_progress_add(&counting); /* twice is once */
    begin(1000);
    assert_true(tutti_progress_busy());
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = none_left}), TUTTI_OK);
    assert_int_equal(atomic_load(&polls), 1000);
    assert_int_equal(atomic_load(&deepest), 1);
    assert_false(tutti_progress_busy());
    tutti_progress_poll();
    assert_int_equal(atomic_load(&polls), 1000); /* what is not open is not polled */
}

/* A step whose poll has to wait for another step. */
static void wait_inside(void);
static struct tutti_step waiting = {.name = "a wait within", .poll = wait_inside};
static int inside;

static void wait_inside(void)
{
    assert_true(tutti_progress_polling());
    inside = tutti_progress_wait(&(const struct tutti_wait){.done = none_left}) == TUTTI_OK ? 1 : -1;
    assert_true(tutti_progress_polling());
    tutti_step_close(&waiting);
}

static int was_inside(void *unused)
{
    (void)unused;
    return inside;
}

static void waits_nest(void **state)
{
    (void)state;
    begin(500);
    tutti_progress_add(&waiting);
    tutti_step_open(&waiting);
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = was_inside}), TUTTI_OK);
    assert_int_equal(inside, 1);
    assert_true(atomic_load(&left) <= 0);
    assert_false(tutti_progress_polling());
    assert_false(tutti_progress_busy());
}

/* A step that a peer waits for: after some polls nothing is owed. */
static void pay(void);
static struct tutti_step paying = {.name = "what is owed", .poll = pay};
static int waited;

static void pay(void)
{
    waited += tutti_progress_waiting();
    atomic_fetch_add(&polls, 1);
    if (atomic_fetch_sub(&left, 1) == 1) {
        atomic_store(&tutti_progress_owed, 0);
        tutti_step_close(&paying);
    }
}

static int at_once(void *unused)
{
    (void)unused;
    return 1;
}

static int inner_wait(void *unused)
{
    (void)unused;
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = at_once}), TUTTI_OK);
    return 1;
}

/* Polls of a wait that is over at once while something is owed. `in_waits` of them are made before: in these a step may
 * begin more. */
enum { PAYS = 8 };
static int polls_of(int (*done)(void *), int quiet, int in_waits)
{
    atomic_store(&left, PAYS);
    atomic_store(&polls, 0);
    atomic_store(&tutti_progress_owed, 1);
    waited = 0;
    tutti_progress_add(&paying);
    tutti_step_open(&paying);
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = done, .quiet = quiet}), TUTTI_OK);
    const int n = atomic_load(&polls), rest = atomic_load(&left);
    assert_int_equal(waited, in_waits);
    if (rest > 0)
        tutti_step_close(&paying);
    atomic_store(&left, 0);
    atomic_store(&tutti_progress_owed, 0);
    return n;
}

/* The outermost wait polls until nothing is owed, or for some time, which a loaded machine may take between two polls.
 */
static void waits_pay(void **state)
{
    (void)state;
    assert_false(tutti_progress_waiting());
    for (int nested = 0; nested < 2; nested++) {
        int paid = 0;
        for (int round = 0; round < 50 && !paid; round++)
            paid = polls_of(nested ? inner_wait : at_once, 0, 1 + nested) == PAYS;
        assert_true(paid);
    }
    assert_int_equal(polls_of(at_once, 1, 0), 0);
    assert_false(tutti_progress_waiting());
}

static int fails(void *rounds)
{
    return --*(int *)rounds == 0 ? TUTTI_ERR_TRANSPORT : 0;
}

static atomic_int dead, mpi;

static int dead_process(void)
{
    return atomic_load(&dead);
}

static void bring_on(void)
{
    atomic_fetch_add(&mpi, 1);
}

static void waits_end(void **state)
{
    int rounds = 100;
    (void)state;
    tutti_progress_mpi(bring_on);
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = fails, .with = &rounds}),
                     TUTTI_ERR_TRANSPORT);
    assert_int_equal(atomic_load(&mpi), 99);
    uint64_t start = tutti_now_ns();
    assert_int_equal(
        tutti_progress_wait(&(const struct tutti_wait){.done = never, .what = "for nothing", .seconds = 2}),
        TUTTI_ERR_TIMEOUT);
    assert_true(tutti_now_ns() - start >= UINT64_C(2000000000));
    tutti_progress_watch(dead_process);
    atomic_store(&dead, 4711);
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = never, .seconds = 1}), TUTTI_ERR_TIMEOUT);
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = never, .watched = 1, .seconds = 20}),
                     TUTTI_ERR_PEER);
    atomic_store(&dead, 0);
    tutti_progress_mpi(NULL);
}

static int descriptions;

static void describe(const void *with, char *text, size_t size)
{
    descriptions++;
    snprintf(text, size, "for number %d", *(const int *)with);
}

/* The text of a report is made when the wait is reported: once, and in no wait that is shorter. */
static void waits_describe(void **state)
{
    int number = 17;
    (void)state;
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = none_left, .describe = describe}),
                     TUTTI_OK);
    assert_int_equal(descriptions, 0);
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){
                         .done = never, .with = &number, .describe = describe, .seconds = 3}),
                     TUTTI_ERR_TIMEOUT);
    assert_int_equal(descriptions, 1);
}

/* Threads that open and wait at once. */
enum { THREADS = 4, ROUNDS = 2000 };
static void take(void);
static struct tutti_step shared = {.name = "shared things", .poll = take};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int things, locked;
static atomic_int taken;

static void take(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    if (things > 0) {
        things--;
        atomic_fetch_add(&taken, 1);
        (locked ? tutti_step_close_locked : tutti_step_close)(&shared);
    }
    pthread_mutex_unlock(&lock);
}

static int as_many(void *with)
{
    return atomic_load(&taken) >= *(const int *)with;
}

static void *thread(void *unused)
{
    tutti_progress_add(&shared);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        things++;
        (locked ? tutti_step_open_locked : tutti_step_open)(&shared);
        pthread_mutex_unlock(&lock);
        int some = i; /* other threads' count too */
        if (tutti_progress_wait(&(const struct tutti_wait){.done = as_many, .with = &some, .seconds = 30}) != TUTTI_OK)
            return unused;
    }
    return &shared;
}

static void threads_share(void **state)
{
    pthread_t threads[THREADS];
    int all = THREADS * ROUNDS;
    (void)state;
    atomic_store(&taken, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *fine;
        pthread_join(threads[i], &fine);
        assert_ptr_equal(fine, &shared);
    }
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = as_many, .with = &all, .seconds = 30}),
                     TUTTI_OK);
    assert_int_equal(atomic_load(&taken), all);
    assert_false(tutti_progress_busy());
}

/* By the calls for steps that a lock of their own serialises. */
static void threads_share_locked(void **state)
{
    locked = 1;
    threads_share(state);
    assert_int_equal(atomic_load(&shared.open), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_bring_on),
        cmocka_unit_test(waits_nest),
        cmocka_unit_test(waits_pay),
        cmocka_unit_test(waits_end),
        cmocka_unit_test(waits_describe),
        cmocka_unit_test(threads_share),
        cmocka_unit_test(threads_share_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
