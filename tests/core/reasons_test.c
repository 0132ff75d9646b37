/* The list of reasons, the reason of the calling thread, and the line of advice. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/reasons.h"

enum { TEXT_BYTES = 64 }; /* offers of teams have as much room: struct tutti_offer */

static void rows_are_sound(void **state)
{
    (void)state;
    for (int r = TUTTI_REASON_NONE + 1; r < TUTTI_REASONS; r++) {
        const struct tutti_reason_row *row = &tutti_reasons[r];
        char copy[TEXT_BYTES];
        assert_in_range(strlen(row->text), 1, TEXT_BYTES - 1);
        assert_true(strlen(row->hint) > 1 && row->hint[strlen(row->hint) - 1] == '.');
        assert_null(strpbrk(row->text, "|\n"));
        assert_true(!row->mend || strncmp(row->hint, "Nothing", 7) != 0);
        assert_int_equal(tutti_reason_of(row->text), r);
        strcpy(copy, row->text);
        assert_int_equal(tutti_reason_of(copy),
                         r); /* as it comes from another process: by its letters, and no text twice */
    }
    assert_int_equal(tutti_reason_of("no such reason"), TUTTI_REASON_OTHER);
    assert_int_equal(tutti_reason_of(NULL), TUTTI_REASON_OTHER);
}

static void *other_thread(void *with)
{
    (void)with;
    return (void *)(uintptr_t)tutti_why_take(TUTTI_REASON_CALL);
}

static int gives_up(int on)
{
    return on ? TUTTI_NO(SHORT) : 1;
}

static void the_last_counts(void **state)
{
    pthread_t thread;
    void *theirs;
    (void)state;
    assert_int_equal(tutti_why_take(TUTTI_REASON_OTHER), TUTTI_REASON_OTHER);
    tutti_why_set(TUTTI_REASON_FIRST);
    assert_int_equal(gives_up(0), 1);
    assert_int_equal(gives_up(1), 0);
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, &theirs);
    assert_int_equal((uintptr_t)theirs, TUTTI_REASON_CALL);
    assert_int_equal(tutti_why_take(TUTTI_REASON_OTHER), TUTTI_REASON_SHORT);
    assert_int_equal(tutti_why_take(TUTTI_REASON_OTHER), TUTTI_REASON_OTHER);
}

static void half_of_the_bytes(void **state)
{
    uint64_t bytes[TUTTI_REASONS] = {0};
    char text[512];
    (void)state;
    assert_int_equal(tutti_tally_hint(bytes, text, sizeof text), 0);
    bytes[TUTTI_REASON_NONE] = 10 << 20;
    bytes[TUTTI_REASON_SCRATCH_SMALL] = 7 << 20;
    bytes[TUTTI_REASON_UNMAPPED] = 3 << 20;
    assert_int_equal(tutti_tally_hint(bytes, text, sizeof text), 0); /* not more than half */
    bytes[TUTTI_REASON_UNMAPPED]++;
    assert_int_equal(tutti_tally_hint(bytes, text, sizeof text), 1);
    assert_non_null(strstr(text, tutti_reasons[TUTTI_REASON_SCRATCH_SMALL].text)); /* the one with most bytes */
    assert_non_null(strstr(text, tutti_reasons[TUTTI_REASON_SCRATCH_SMALL].hint));
    assert_null(strchr(text, '\n'));
    bytes[TUTTI_REASON_SHORT] = 1 << 20; /* cannot be mended */
    assert_int_equal(tutti_tally_hint(bytes, text, sizeof text), 0);
    memset(bytes, 0, sizeof bytes);
    bytes[TUTTI_REASON_RULES] = 1 << 10; /* little */
    assert_int_equal(tutti_tally_hint(bytes, text, sizeof text), 0);
    bytes[TUTTI_REASON_RULES] = UINT64_C(1) << 62;
    assert_int_equal(tutti_tally_hint(bytes, text, sizeof text), 1);
    tutti_tally_hint_off();
    assert_int_equal(tutti_tally_hint(bytes, text, sizeof text), 0);
}

static void tally(void **state)
{
    uint64_t before[TUTTI_REASONS], after[TUTTI_REASONS];
    (void)state;
    tutti_tally_read(before);
    tutti_tally_add(TUTTI_REASON_FIRST, 5);
    tutti_tally_add(TUTTI_REASON_FIRST, 6);
    tutti_tally_read(after);
    for (int r = 0; r < TUTTI_REASONS; r++)
        assert_int_equal(after[r] - before[r], r == TUTTI_REASON_FIRST ? 11 : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_sound), cmocka_unit_test(the_last_counts),
                                       cmocka_unit_test(half_of_the_bytes), cmocka_unit_test(tally)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
