/* TUTTI_BOUNCE_MB=0: pinned memory is allocated and returned to the device at once, device memory is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bounce/bounce.h"

static void nothing_is_kept(void **state)
{
    struct tutti_bounce_counts counts;
    (void)state;
    for (uint64_t round = 1; round <= 3; round++) {
        struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, 5000);
        assert_non_null(bounce);
        assert_true(bounce->room >= 5000);
        memset(bounce->memory, 1, bounce->room);
        tutti_bounce_read(&counts);
        assert_int_equal(counts.held, bounce->room);
        tutti_bounce_give(bounce);
        tutti_bounce_read(&counts);
        assert_int_equal(counts.made, round);
        assert_int_equal(counts.held, 0);
        assert_int_equal(counts.kept, 0);
        assert_null(tutti_bounce_take(&tutti_bounce_device, 0, 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
