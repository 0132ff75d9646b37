/* A step that is opened while the helper lies down is not slept over. The helper's calls of pthread_mutex_lock() and
 * pthread_cond_wait() are wrapped, so that the step is opened at each place between its last look and its sleep. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "core/status.h"
#include "progress/engine.h"
#include "progress/helper.h"

enum place { NOWHERE, BEFORE_LOCK, WITH_LOCK, BEFORE_WAIT };
static const char *const places[] = {"while it was awake", "before it had the lock", "when it had the lock",
                                     "before it waited"};
enum { ROUNDS = 3, SECONDS = 20 };

static atomic_int place, left, by_others;
static sem_t opened, done;
static pthread_t opener;

static void count_down(void);
static struct tutti_step counting = {.name = "countdowns", .poll = count_down};

static void count_down(void)
{
    if (!tutti_helper_here())
        atomic_fetch_add(&by_others, 1);
    if (atomic_fetch_sub(&left, 1) == 1) {
        tutti_step_close(&counting);
        sem_post(&done);
    }
}

static void open_step(void)
{
    atomic_store(&left, 3);
    tutti_step_open(&counting);
    sem_post(&opened);
}

static void *open_apart(void *unused)
{
    (void)unused;
    open_step();
    return NULL;
}

/* 1 for the first call of the helper at this place. */
static int is_at(enum place here)
{
    int expected = here;
    return tutti_helper_here() && atomic_compare_exchange_strong(&place, &expected, NOWHERE);
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (is_at(BEFORE_LOCK))
        open_step();
    const int result = __real_pthread_mutex_lock(mutex);
    if (is_at(WITH_LOCK))
        open_step();
    return result;
}

/* The state says that it sleeps: who opens a step wakes it, and needs the lock for that. */
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (is_at(BEFORE_WAIT))
        assert_int_equal(pthread_create(&opener, NULL, open_apart, NULL), 0);
    return __real_pthread_cond_wait(cond, mutex);
}

/* A helper that sleeps cannot be ended in good order, nor used by the next test. */
static void await(sem_t *what, const char *where)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SECONDS;
    if (sem_timedwait(what, &until) == 0)
        return;
    fprintf(stderr, "the helper has slept over a step that was opened %s\n", where);
    exit(1);
}

static void is_not_slept_over(enum place where)
{
    atomic_store(&place, NOWHERE);
    atomic_store(&by_others, 0);
    tutti_progress_add(&counting);
    tutti_helper_begin(tutti_progress_poll);
    for (int round = 0; round < ROUNDS; round++) {
        open_step(); /* it is awake after this */
        await(&opened, places[NOWHERE]);
        await(&done, places[NOWHERE]);
        atomic_store(&place, (int)where);
        await(&opened, places[where]);
        await(&done, places[where]);
        if (where == BEFORE_WAIT)
            assert_int_equal(pthread_join(opener, NULL), 0);
        assert_false(tutti_progress_busy());
    }
    assert_int_equal(atomic_load(&by_others), 0);
    tutti_helper_end();
}

static void before_the_lock(void **state)
{
    (void)state;
    is_not_slept_over(BEFORE_LOCK);
}

static void with_the_lock(void **state)
{
    (void)state;
    is_not_slept_over(WITH_LOCK);
}

static void before_the_wait(void **state)
{
    (void)state;
    is_not_slept_over(BEFORE_WAIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_lock),
        cmocka_unit_test(with_the_lock),
        cmocka_unit_test(before_the_wait),
    };
    sem_init(&opened, 0, 0);
    sem_init(&done, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
