/* The clock of a call that polls advance: a stall is reported once for each place, and ends at the time limit. The test
 * moves the start of the clock, so no time passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/settings.h"
#include "core/status.h"
#include "progress/stall.h"

static void as_if_after(struct tutti_stall *stall, long seconds)
{
    stall->since -= (uint64_t)seconds * UINT64_C(1000000000);
}

static void stall_is_reported_once_for_each_place(void **state)
{
    struct tutti_stall stall = {.since = 0};
    const long until = tutti_settings()->stall_seconds;
    uint64_t seconds;
    (void)state;
    for (int place = 0; place < 3; place++) {
        tutti_stall_poll(&stall, place);
        assert_int_equal(tutti_stall_look(&stall, &seconds), TUTTI_OK);
        as_if_after(&stall, until);
        tutti_stall_poll(&stall, place);
        assert_int_equal(tutti_stall_look(&stall, &seconds), TUTTI_STALL_REPORT);
        assert_true(seconds >= (uint64_t)until);
        tutti_stall_poll(&stall, place);
        assert_int_equal(tutti_stall_look(&stall, &seconds), TUTTI_OK);
    }
}

static void stall_ends_at_the_limit_of_one_place(void **state)
{
    struct tutti_stall stall = {.since = 0};
    const long limit = tutti_settings()->timeout_seconds;
    uint64_t seconds;
    (void)state;
    tutti_stall_poll(&stall, 7);
    as_if_after(&stall, limit - 1);
    tutti_stall_poll(&stall, 8);
    as_if_after(&stall, limit - 1);
    assert_int_not_equal(tutti_stall_look(&stall, &seconds), TUTTI_ERR_TIMEOUT);
    as_if_after(&stall, 1);
    assert_int_equal(tutti_stall_look(&stall, &seconds), TUTTI_ERR_TIMEOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stall_is_reported_once_for_each_place),
        cmocka_unit_test(stall_ends_at_the_limit_of_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
