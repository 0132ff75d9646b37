/* The recorder of phases: parts of a call have no gaps, calls within calls belong to the outer one, threads have their
 * own; and the ranges that NVTX gets, where a tool for it is loaded (fake_nvtx.c). */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/phases.h"
#include "core/trace.h"

static void pass_ms(int ms)
{
    uint64_t until = tutti_now_ns() + (uint64_t)ms * 1000000u;
    while (tutti_now_ns() < until)
        tutti_pause();
}

static uint64_t sum(const uint64_t ns[TUTTI_PHASES])
{
    uint64_t all = 0;
    for (int p = 0; p < TUTTI_PHASES; p++)
        all += ns[p];
    return all;
}

static void one_call(void **state)
{
    (void)state;
    uint64_t ns[TUTTI_PHASES];
    tutti_phases_take(ns);
    uint64_t start = tutti_now_ns();
    tutti_phase_begin("MPI_Allreduce");
    pass_ms(2);
    assert_int_equal(tutti_phase(TUTTI_PHASE_LAUNCH), TUTTI_PHASE_ARRIVAL);
    pass_ms(4);
    enum tutti_phase before = tutti_phase(TUTTI_PHASE_COPY);
    pass_ms(1);
    assert_int_equal(tutti_phase(before), TUTTI_PHASE_COPY);
    tutti_phase(TUTTI_PHASE_KERNEL);
    pass_ms(3);
    tutti_phase_end();
    uint64_t whole = tutti_now_ns() - start;
    assert_int_equal(tutti_phases_take(ns), 1);
    assert_true(ns[TUTTI_PHASE_ARRIVAL] >= 2000000 && ns[TUTTI_PHASE_LAUNCH] >= 4000000);
    assert_true(ns[TUTTI_PHASE_COPY] >= 1000000 && ns[TUTTI_PHASE_KERNEL] >= 3000000);
    assert_true(sum(ns) <= whole);
    assert_int_equal(ns[TUTTI_PHASE_MAPPING] + ns[TUTTI_PHASE_HANDOUT] + ns[TUTTI_PHASE_LEADER] + ns[TUTTI_PHASE_MPI],
                     0);
    assert_int_equal(tutti_phases_take(ns), 0);
    assert_int_equal(sum(ns), 0);
}

static void calls_within_calls(void **state)
{
    (void)state;
    uint64_t ns[TUTTI_PHASES];
    tutti_phases_take(ns);
    tutti_phase_begin("MPI_Reduce");
    tutti_phase(TUTTI_PHASE_MPI);
    tutti_phase_begin("MPI_Allreduce");
    pass_ms(2);
    tutti_phase_end();
    pass_ms(1);
    tutti_phase_end();
    assert_int_equal(tutti_phases_take(ns), 1);
    assert_true(ns[TUTTI_PHASE_MPI] >= 3000000);
    tutti_phase(TUTTI_PHASE_KERNEL); /* outside a call */
    pass_ms(1);
    tutti_phase_end();
    assert_int_equal(tutti_phases_take(ns), 0);
    assert_int_equal(sum(ns), 0);
}

static void *other_thread(void *calls)
{
    uint64_t ns[TUTTI_PHASES];
    *(uint64_t *)calls = tutti_phases_take(ns);
    tutti_phase_begin("MPI_Scan");
    tutti_phase_end();
    *(uint64_t *)calls += tutti_phases_take(ns) * 10;
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    uint64_t ns[TUTTI_PHASES], calls = 99;
    pthread_t thread;
    tutti_phases_take(ns);
    tutti_phase_begin("MPI_Allreduce");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &calls), 0);
    pthread_join(thread, NULL);
    tutti_phase_end();
    assert_int_equal(calls, 10);
    assert_int_equal(tutti_phases_take(ns), 1);
}

static void switched_off(void **state)
{
    (void)state;
    uint64_t ns[TUTTI_PHASES];
    tutti_phases_take(ns);
    tutti_phases_switch(0);
    const int ranges = tutti_phases_on != 0; /* marks go on being looked at */
    assert_int_equal(ranges, tutti_phases_have_nvtx());
    tutti_phase_begin("MPI_Allreduce");
    tutti_phase_end();
    uint64_t calls = tutti_phases_take(ns);
    tutti_phases_switch(1);
    tutti_phase_begin("MPI_Allreduce");
    tutti_phase_end();
    assert_int_equal(calls, 0);
    assert_int_equal(tutti_phases_take(ns), 1);
}

struct fake_nvtx {
    int depth, pushed;
    char open[8][32];
};

static void ranges(void **state)
{
    (void)state;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    if (!path)
        skip(); /* the plain variant of this test: there are no ranges */
    assert_true(tutti_phases_have_nvtx());
    tutti_phase_begin("MPI_Allreduce");
    void *library = dlopen(path, RTLD_NOW);
    assert_non_null(library);
    const struct fake_nvtx *seen = dlsym(library, "fake_nvtx");
    assert_non_null(seen);
    int pushed = seen->pushed;
    assert_int_equal(seen->depth, 2);
    assert_string_equal(seen->open[0], "MPI_Allreduce");
    assert_string_equal(seen->open[1], "arrival");
    tutti_phase(TUTTI_PHASE_KERNEL);
    assert_int_equal(seen->depth, 2);
    assert_string_equal(seen->open[1], "kernel");
    assert_int_equal(seen->pushed, pushed + 1);
    tutti_phase_end();
    assert_int_equal(seen->depth, 0);
    dlclose(library);
}

static int longer(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* At least `least`, and no more than the median of the five times that the test has taken around the same steps. A
 * figure is within 3 % or so. */
static void check_median(double median, double least, uint64_t around[5])
{
    qsort(around, 5, sizeof *around, longer);
    assert_true(median >= 0.97 * least && median <= 1.04 * (double)around[2]);
}

/* Steps of messages: the time since the thread's mark before, as a median. */
static void steps_of_messages(void **state)
{
    (void)state;
    struct tutti_trace_figure figure[TUTTI_TRACE_STEPS];
    uint64_t posted[5], way[5];
    tutti_trace_switch(1);
    tutti_trace_take(figure);
    uint64_t mark = tutti_now_ns();
    tutti_trace(TUTTI_TRACE_SEND, 8);
    for (int i = 0; i < 5; i++) {
        pass_ms(i == 1 ? 20 : 2);
        const uint64_t next = tutti_now_ns();
        tutti_trace(TUTTI_TRACE_POSTED, (uint64_t)1 << 4 * i);
        posted[i] = tutti_now_ns() - mark;
        mark = next;
        const uint64_t begin = tutti_now_ns(), stamp = tutti_trace_stamp();
        pass_ms(1);
        tutti_trace_way(TUTTI_TRACE_RTS_WAY, stamp); /* no mark of the thread */
        way[i] = tutti_now_ns() - begin;
    }
    tutti_trace_switch(0);
    tutti_trace(TUTTI_TRACE_SENT, 0);
    assert_int_equal(tutti_trace_stamp(), 0);
    tutti_trace_take(figure);
    assert_int_equal(figure[TUTTI_TRACE_POSTED].count, 5);
    assert_int_equal(figure[TUTTI_TRACE_RTS_WAY].count, 5);
    assert_int_equal(figure[TUTTI_TRACE_SEND].count + figure[TUTTI_TRACE_SENT].count, 0);
    check_median(figure[TUTTI_TRACE_POSTED].median, 3e6, posted);
    check_median(figure[TUTTI_TRACE_RTS_WAY].median, 1e6, way);
    tutti_trace_take(figure);
    assert_int_equal(figure[TUTTI_TRACE_POSTED].count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call), cmocka_unit_test(calls_within_calls),
        cmocka_unit_test(threads),  cmocka_unit_test(switched_off),
        cmocka_unit_test(ranges),   cmocka_unit_test(steps_of_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
