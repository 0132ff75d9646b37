/* The engine's thread: fibers go on while others wait, in any order of their beginning; locks that are held
 * across a wait stop no other fiber; there is one thread, which ends and comes again. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/status.h"
#include "progress/engine.h"
#include "progress/fiber.h"

enum { FIBERS = 300, DEPTH = 200 };
/* Of a lock; each waits in turns of all, so that their number counts twice. */
#ifdef __SANITIZE_THREAD__
enum { LOCKERS = 60 };
#else
enum { LOCKERS = FIBERS };
#endif

static int none_open(void *unused)
{
    (void)unused;
    return atomic_load(&tutti_fibers_open) == 0;
}

static void await_all(void)
{
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = none_open, .seconds = 50}), TUTTI_OK);
}

/* Fiber i ends after fiber i + 1 has: the last one begun ends first. */
static atomic_int ended[FIBERS + 1];
static pthread_t threads[FIBERS];
static int numbers[FIBERS];

/* A stack that is deep where the fiber waits. */
static int deep(int depth, int i)
{
    volatile char room[512];
    memset((void *)(uintptr_t)room, i, sizeof room);
    if (depth > 0 && deep(depth - 1, i) != i)
        return -1;
    if (depth == 0) {
        while (!atomic_load(&ended[i + 1]))
            tutti_fiber_yield();
    }
    for (size_t k = 0; k < sizeof room; k++) {
        if (room[k] != (char)i)
            return -1;
    }
    return i;
}

static void after_the_next(void *with)
{
    const int i = *(const int *)with;
    threads[i] = pthread_self();
    const struct tutti_fiber *me = tutti_fiber_here();
    const int fine = me && deep(DEPTH, i) == i && tutti_fiber_here() == me;
    atomic_store(&ended[i], fine ? 1 : -1);
    tutti_fiber_moved();
}

static void any_order(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        memset(ended, 0, sizeof ended);
        for (int i = 0; i < FIBERS; i++) {
            numbers[i] = i;
            assert_int_equal(tutti_fiber_start(after_the_next, &numbers[i]), TUTTI_OK);
        }
        assert_null(tutti_fiber_here());
        atomic_store(&ended[FIBERS], 1);
        await_all();
        for (int i = 0; i < FIBERS; i++) {
            assert_int_equal(atomic_load(&ended[i]), 1);
            assert_true(pthread_equal(threads[i], threads[0]));
            assert_false(pthread_equal(threads[i], pthread_self()));
        }
        if (round == 1)
            tutti_fibers_end();
    }
}

/* Holds the lock while others go on, several of which want it too; so does a thread of the program. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int inside, most, turns;

static void hold(void *unused)
{
    (void)unused;
    tutti_fiber_lock(&lock);
    inside++;
    for (int i = 0; i < 20; i++) {
        most = inside > most ? inside : most;
        tutti_fiber_yield();
    }
    turns++;
    inside--;
    pthread_mutex_unlock(&lock);
}

static void locks(void **state)
{
    (void)state;
    for (int i = 0; i < LOCKERS; i++) {
        assert_int_equal(tutti_fiber_start(hold, NULL), TUTTI_OK);
        if (i % 10 == 0)
            hold(NULL);
    }
    await_all();
    assert_int_equal(most, 1);
    assert_int_equal(turns, LOCKERS + LOCKERS / 10);
}

/* The engine's wait within fibers: each waits for what another one brings about. */
static atomic_int came[2];

static int has_come(void *with)
{
    return atomic_load((atomic_int *)with);
}

static void ping(void *with)
{
    atomic_int *mine = with, *other = mine == &came[0] ? &came[1] : &came[0];
    for (int i = 1; i <= 1000; i++) {
        if (mine == &came[0])
            atomic_fetch_add(other, 1);
        tutti_progress_wait(&(const struct tutti_wait){.done = has_come, .with = mine});
        atomic_fetch_sub(mine, 1);
        if (mine == &came[1])
            atomic_fetch_add(other, 1);
    }
}

static void waits_in_tasks(void **state)
{
    (void)state;
    assert_int_equal(tutti_fiber_start(ping, &came[0]), TUTTI_OK);
    assert_int_equal(tutti_fiber_start(ping, &came[1]), TUTTI_OK);
    await_all();
    assert_int_equal(atomic_load(&came[0]) + atomic_load(&came[1]), 0);
}

/* Work that is put off: noted once, done when the fiber catches up, or ends; too much of it, and that of other threads,
 * is refused. */
static int done[TUTTI_FIBER_REST + 2], early, taken;

static void count(void *of)
{
    (*(int *)of)++;
}

static void puts_off(void *unused)
{
    (void)unused;
    for (int i = 0; i <= TUTTI_FIBER_REST; i++)
        taken += tutti_fiber_put_off(count, &done[i]) + 10 * tutti_fiber_put_off(count, &done[0]);
    tutti_fiber_yield();
    for (int i = 0; i <= TUTTI_FIBER_REST; i++)
        early += done[i];
    tutti_fiber_catch_up();
    tutti_fiber_catch_up();
    early += 100 * done[TUTTI_FIBER_REST - 1];
    taken += 100 * tutti_fiber_put_off(count, &done[TUTTI_FIBER_REST + 1]);
}

static void count_ten(void *of)
{
    *(int *)of += 10;
}

/* Other work of the same object. */
static void puts_off_both(void *of)
{
    taken = tutti_fiber_put_off(count, of) + tutti_fiber_put_off(count_ten, of);
}

static void put_off(void **state)
{
    int both = 0;
    (void)state;
    assert_int_equal(tutti_fiber_start(puts_off_both, &both), TUTTI_OK);
    await_all();
    assert_int_equal(taken, 2);
    assert_int_equal(both, 11);
    assert_int_equal(tutti_fiber_put_off(count, &done[0]), 0);
    tutti_fiber_catch_up();
    for (int round = 1; round <= 2; round++) { /* the second one may have the stack of the first */
        early = taken = 0;
        assert_int_equal(tutti_fiber_start(puts_off, NULL), TUTTI_OK);
        await_all();
        assert_int_equal(taken, 100 + 10 * (TUTTI_FIBER_REST + 1) + TUTTI_FIBER_REST);
        assert_int_equal(early, (TUTTI_FIBER_REST + 100) * round - TUTTI_FIBER_REST);
        for (int i = 0; i < TUTTI_FIBER_REST + 2; i++)
            assert_int_equal(done[i], i == TUTTI_FIBER_REST ? 0 : round);
    }
}

/* ---- turns of other threads ---- */

/* Fibers note who continues them. The ones at home do so on threads that may block alone. */
enum { TURNED = 12, STEPS = 60 };
static pthread_t program;
static atomic_int by_program, by_engine, wrong_home, wrong_here, left_to_do, in_wait;

static void note(void)
{
    atomic_fetch_add(pthread_equal(pthread_self(), program) ? &by_program : &by_engine, 1);
}

static void in_turns(void *with)
{
    const int i = *(const int *)with;
    const struct tutti_fiber *me = tutti_fiber_here();
    const void *self = tutti_fiber_self();
    int nested = 0;
    for (int step = 0; step < STEPS; step++) {
        tutti_fiber_yield();
        atomic_fetch_add(&wrong_here, tutti_fiber_here() != me || tutti_fiber_self() != self);
        if (i % 4 == 3 && step % 20 == 10) {
            tutti_fiber_home_begin();
            tutti_fiber_home_begin();
            nested = 8;
        }
        if (nested == 0)
            note();
        else
            atomic_fetch_add(&wrong_home, pthread_equal(pthread_self(), program) && !atomic_load(&in_wait));
        if (nested == 5 || nested == 1)
            tutti_fiber_home_end();
        nested -= nested > 0;
    }
    atomic_fetch_sub(&left_to_do, 1);
}

static void *turn_beside(void *unused)
{
    int drives = 0;
    while (atomic_load(&left_to_do) > 0)
        (void)tutti_fibers_drive(&drives, 1);
    tutti_fibers_leave(&drives);
    return unused;
}

static void turns_of_others(void **state)
{
    static int numbers_of[TURNED];
    (void)state;
    program = pthread_self();
    for (int round = 0; round < 200; round++) {
        pthread_t beside;
        int drives = 0, threads_too = round % 3 == 2;
        usleep(round % 4 == 0 ? 1500 : 0); /* the engine's thread sleeps */
        atomic_store(&left_to_do, TURNED);
        for (int i = 0; i < TURNED; i++) {
            numbers_of[i] = i;
            assert_int_equal(tutti_fiber_start(in_turns, &numbers_of[i]), TUTTI_OK);
            if (round % 5 == 0)
                (void)tutti_fibers_turn();
            assert_null(tutti_fiber_here());
        }
        if (threads_too)
            assert_int_equal(pthread_create(&beside, NULL, turn_beside, NULL), 0);
        atomic_store(&in_wait, round % 7 < 2); /* for fibers alone; then for something else too */
        for (int turn = 0; turn < (round % 2 ? STEPS / 2 : STEPS * 4); turn++)
            (void)(round % 7 < 4 ? tutti_fibers_drive(&drives, round % 7 < 2) : tutti_fibers_turn());
        atomic_store(&in_wait, 0);
        if (round % 11 == 0)
            usleep(3000); /* a wait that stands still: the engine's thread goes on */
        tutti_fibers_leave(&drives);
        if (threads_too)
            assert_int_equal(pthread_join(beside, NULL), 0);
        await_all();
    }
    assert_int_equal(atomic_load(&wrong_home), 0);
    assert_int_equal(atomic_load(&wrong_here), 0);
    assert_true(atomic_load(&by_program) > 0);
    assert_true(atomic_load(&by_engine) > 0);
}

/* A wait that has made turns and stands still, in the program or for a fiber: the engine's thread looks on. */
static void stands_still(void **state)
{
    int drives = 0;
    static int number = 1;
    (void)state;
    tutti_fibers_end(); /* a thread that has never run */
    atomic_store(&left_to_do, 1);
    assert_int_equal(tutti_fiber_start(in_turns, &number), TUTTI_OK);
    for (int turn = 0; turn < 5; turn++)
        (void)tutti_fibers_drive(&drives, 1);
    for (int ms = 0; ms < 20000 && atomic_load(&left_to_do) > 0; ms++)
        usleep(1000);
    assert_int_equal(atomic_load(&left_to_do), 0);
    tutti_fibers_leave(&drives);
    await_all();
}

/* A wait that must not block makes turns all the time: the engine's thread runs the parts of fibers that may block. */
static void blocks_elsewhere(void **state)
{
    static int number = 3;
    (void)state;
    program = pthread_self();
    atomic_store(&in_wait, 0);
    for (int round = 0; round < 20; round++) {
        int drives = 0;
        usleep(round % 2 ? 1500 : 0);
        atomic_store(&left_to_do, 1);
        assert_int_equal(tutti_fiber_start(in_turns, &number), TUTTI_OK);
        while (atomic_load(&left_to_do) > 0)
            (void)tutti_fibers_drive(&drives, 0);
        tutti_fibers_leave(&drives);
        await_all();
    }
    assert_int_equal(atomic_load(&wrong_home), 0);
}

/* Threads that make some turns and end: the fibers that they began continue on others. */
static void *turn_and_end(void *of)
{
    int drives = 0;
    if (tutti_fiber_start(in_turns, of) != TUTTI_OK)
        return of;
    for (int turn = 0; turn < STEPS / 4; turn++)
        (void)(turn % 2 ? tutti_fibers_drive(&drives, 0) : tutti_fibers_turn());
    tutti_fibers_leave(&drives);
    return NULL;
}

static void threads_end(void **state)
{
    static int numbers_of[TURNED];
    (void)state;
    program = pthread_self();
    for (int round = 0; round < 30; round++) {
        pthread_t beside[TURNED];
        usleep(round % 3 == 0 ? 1500 : 0);
        atomic_store(&left_to_do, TURNED);
        for (int i = 0; i < TURNED; i++) {
            numbers_of[i] = i;
            assert_int_equal(pthread_create(&beside[i], NULL, turn_and_end, &numbers_of[i]), 0);
        }
        for (int i = 0; i < TURNED; i++) {
            void *failed = NULL;
            assert_int_equal(pthread_join(beside[i], &failed), 0);
            assert_null(failed);
        }
        for (int turn = 0; turn < STEPS && round % 2; turn++)
            (void)tutti_fibers_turn();
        await_all();
        assert_int_equal(atomic_load(&left_to_do), 0);
    }
    assert_int_equal(atomic_load(&wrong_here), 0);
}

/* In a fiber, and within a poll, no turn is made. */
static int turned_in_fiber;

static void turns_itself(void *unused)
{
    (void)unused;
    turned_in_fiber = tutti_fibers_turn();
}

static void no_turn_within(void **state)
{
    (void)state;
    turned_in_fiber = -1;
    assert_int_equal(tutti_fiber_start(turns_itself, NULL), TUTTI_OK);
    await_all();
    assert_int_equal(turned_in_fiber, 0);
}

/* A forked child has none of the threads: fibers that it starts run on one of its own, whether the parent's thread
 * slept when the fork came or not. */
static void after_fork(void **state)
{
    (void)state;
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        static int runs[3];
        int status = -1;
        memset(runs, 0, sizeof runs);
        assert_int_equal(tutti_fiber_start(count, &runs[0]), TUTTI_OK);
        await_all();
        if (sleeps)
            usleep(300000);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(20);
            for (int i = 0; i < 3; i++) {
                if (tutti_fiber_start(count, &runs[i]) != TUTTI_OK)
                    _exit(1);
                if (i == 1)
                    usleep(300000);
            }
            const int waited =
                tutti_progress_wait(&(const struct tutti_wait){.done = none_open, .seconds = 15}) == TUTTI_OK;
            _exit(waited && runs[0] == 2 && runs[1] == 1 && runs[2] == 1 ? 0 : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(runs[0], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),        cmocka_unit_test(locks),           cmocka_unit_test(waits_in_tasks),
        cmocka_unit_test(put_off),          cmocka_unit_test(turns_of_others), cmocka_unit_test(stands_still),
        cmocka_unit_test(blocks_elsewhere), cmocka_unit_test(threads_end),     cmocka_unit_test(no_turn_within),
        cmocka_unit_test(after_fork),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tutti_fibers_end();
    return failed;
}
