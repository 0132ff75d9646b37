/* The pool of bounce buffers with many threads: no two threads hold the same buffer, the limit of TUTTI_BOUNCE_MB holds
 * at every moment, and nothing is lost where allocations fail. */
#include "bounce/kinds.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/check.h"
#include "support/random.h"

enum { THREADS = 6 };

struct job {
    const struct tutti_bounce_kind *kinds[2];
    uint64_t seed;
    long had;
};

/* Nobody else has what this thread has: it finds there what it has written. */
static void *use(void *with)
{
    enum { HANDS = 8, STEPS = 6000 };
    struct job *job = with;
    struct tutti_bounce *hand[HANDS] = {NULL};
    uint64_t at = job->seed;
    for (int step = 0; step < STEPS; step++) {
        const int i = (int)(random_next(&at) % HANDS);
        const uint64_t mark = job->seed ^ (uint64_t)i;
        if (hand[i]) {
            const char *end = (const char *)hand[i]->memory + hand[i]->room - sizeof mark;
            CHECK(memcmp(hand[i]->memory, &mark, sizeof mark) == 0 && memcmp(end, &mark, sizeof mark) == 0,
                  "somebody else has written into a buffer of %zu bytes", hand[i]->room);
            tutti_bounce_give(hand[i]);
            hand[i] = NULL;
            continue;
        }
        if (random_next(&at) % 100 == 0)
            atomic_fetch_add(&kinds_fail, 1);
        const size_t bytes = random_next(&at) % (UINT64_C(1) << random_next(&at) % 22);
        hand[i] = tutti_bounce_take(job->kinds[random_next(&at) % 2], (int)(random_next(&at) % 2), bytes);
        if (!hand[i])
            continue;
        job->had++;
        CHECK(hand[i]->room >= bytes, "a buffer of %zu bytes for %zu", hand[i]->room, bytes);
        memcpy(hand[i]->memory, &mark, sizeof mark);
        memcpy((char *)hand[i]->memory + hand[i]->room - sizeof mark, &mark, sizeof mark);
    }
    for (int i = 0; i < HANDS; i++)
        tutti_bounce_give(hand[i]);
    return NULL;
}

static void run_threads(const struct tutti_bounce_kind *other)
{
    pthread_t thread[THREADS];
    struct job job[THREADS];
    for (int t = 0; t < THREADS; t++) {
        job[t] = (struct job){{&kinds_strict, other}, check_seed() + 1000u * (unsigned)t, 0};
        assert_int_equal(pthread_create(&thread[t], NULL, use, &job[t]), 0);
    }
    long had = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        had += job[t].had;
    }
    atomic_store(&kinds_fail, 0);
    assert_int_equal(check_failed(), 0);
    assert_int_equal(kinds_counts().held, atomic_load(&kinds_live));
    assert_int_equal(kinds_counts().kept, atomic_load(&kinds_live));
    assert_true(kinds_counts().kept <= LIMIT);
    assert_true(had > 1000 && kinds_counts().most > LIMIT / 2);
}

/* The limit holds at every moment: alloc() looks. */
static void threads_below(void **state)
{
    (void)state;
    atomic_store(&kinds_over, 0);
    run_threads(&kinds_strict);
    assert_int_equal(atomic_load(&kinds_over), 0);
}

static void threads_beyond(void **state)
{
    (void)state;
    run_threads(&kinds_loose);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(threads_below, kinds_ends_empty),
        cmocka_unit_test_teardown(threads_beyond, kinds_ends_empty),
    };
    printf("seed %llu\n", (unsigned long long)check_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
