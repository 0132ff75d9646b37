/* The helper polls steps that no other thread polls, leaves the polls to those that do, sleeps, wakes, ends and begins
 * again.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/status.h"
#include "progress/engine.h"
#include "progress/helper.h"

enum { LOOK_NS = 1000000 /* the helper's, between its looks */, LOOKS = 200 };

/* A step that is done after so many polls, and says so to a thread that is asleep outside the engine. */
static atomic_int left, by_helper, by_others;
/* Polls of the helper that it should have left to others: see watch_helper(). */
static atomic_int greedy;
static sem_t done;
static _Atomic uint64_t not_before; /* the step is not done earlier */
static void count_down(void);
static struct tutti_step counting = {.name = "countdowns", .poll = count_down};

/* A poll of the helper. Where others have polled between two of its polls it has looked on for a while in between,
 * however late it was given a core; or they came just before the second one, and then it looks on before its next one.
 */
static void watch_helper(void)
{
    static unsigned before;
    static uint64_t since;
    static int must_look;
    const unsigned others = atomic_load(&tutti_helper_others);
    const uint64_t now = tutti_now_ns();
    const int at_once = now - since < LOOK_NS;
    if (must_look && at_once)
        atomic_fetch_add(&greedy, 1);
    must_look = others != before && at_once;
    before = others;
    since = now;
}

static void count_down(void)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    if (pthread_mutex_trylock(&one) != 0)
        return;
    if (tutti_helper_here())
        watch_helper();
    atomic_fetch_add(tutti_helper_here() ? &by_helper : &by_others, 1);
    const int last = atomic_load(&left) == 1;
    if (atomic_load(&left) > 0 && !(last && tutti_now_ns() < atomic_load(&not_before)) &&
        atomic_fetch_sub(&left, 1) == 1) {
        tutti_step_close(&counting);
        sem_post(&done);
    }
    pthread_mutex_unlock(&one);
}

static void *open_and_leave(void *polls)
{
    atomic_store(&left, *(const int *)polls);
    tutti_step_open(&counting);
    return NULL;
}

/* A thread opens the step and ends; this one waits where nothing of the engine's is polled. */
static void leave_alone(int polls)
{
    pthread_t thread;
    struct timespec until;
    assert_int_equal(pthread_create(&thread, NULL, open_and_leave, &polls), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    assert_int_equal(sem_timedwait(&done, &until), 0);
    assert_false(tutti_progress_busy());
}

static void begin(void)
{
    tutti_progress_add(&counting);
    atomic_store(&by_helper, 0);
    atomic_store(&by_others, 0);
    tutti_helper_begin(tutti_progress_poll);
}

static void brings_on(void **state)
{
    (void)state;
    begin();
    assert_int_equal(atomic_load(&tutti_helper_state), TUTTI_HELPER_ASLEEP);
    for (int i = 0; i < 50; i++)
        leave_alone(1 + i * 3);
    assert_int_equal(atomic_load(&by_others), 0);
    tutti_helper_end();
    begin(); /* again, after its end */
    leave_alone(3);
    tutti_helper_end();
    assert_int_equal(atomic_load(&tutti_helper_state), TUTTI_HELPER_NONE);
}

static void sleeps_and_wakes(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++) {
        leave_alone(10);
        for (uint64_t start = tutti_now_ns(); atomic_load(&tutti_helper_state) != TUTTI_HELPER_ASLEEP; usleep(1000))
            assert_true(tutti_now_ns() - start < UINT64_C(20000000000));
    }
    tutti_helper_end();
}

static int none_left(void *unused)
{
    (void)unused;
    return atomic_load(&left) <= 0;
}

/* A wait that polls all the time, for as long as the helper takes for many looks: the helper looks on. A poll gives the
 * core away, for long on a busy machine, so no number of polls is asked for. */
static void leaves_polls_to_waits(void **state)
{
    (void)state;
    begin();
    leave_alone(1);
    int polls = 1000;
    atomic_store(&by_helper, 0);
    atomic_store(&not_before, tutti_now_ns() + LOOKS * (uint64_t)LOOK_NS);
    open_and_leave(&polls);
    assert_int_equal(tutti_progress_wait(&(const struct tutti_wait){.done = none_left}), TUTTI_OK);
    assert_int_equal(sem_wait(&done), 0);
    assert_int_equal(atomic_load(&greedy), 0);
    tutti_helper_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brings_on),
        cmocka_unit_test(sleeps_and_wakes),
        cmocka_unit_test(leaves_polls_to_waits),
    };
    sem_init(&done, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
