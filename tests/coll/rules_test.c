/* The grammar of rules: what is taken, what is refused and with what words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll/coll.h"
#include "core/status.h"

static void takes(void **state)
{
    (void)state;
    static const char *const right[] = {
        "",
        "allreduce: *@staged",
        "allreduce: 0-8k@oneshot 8k-1M@twoshot 1m-*@direct *@staged",
        "allreduce:0-8k@oneshot,8k-*@twoshot",
        "allreduce: 0-100@leader; allreduce: *@oneshot",
    };
    char wrong[160];
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
        assert_int_equal(tutti_rules_check(right[i], wrong, sizeof wrong), TUTTI_OK);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } wrongs[] = {
        {"allreduce: *@onshot", "no algorithm 'onshot'"},
        {"alreduce: *@oneshot", "no collective 'alreduce'"},
        {"*@oneshot", "cannot read '*@oneshot'"},
        {"allreduce: 8k@oneshot", "no range of bytes '8k'"},
        {"allreduce: 8k-4k@oneshot", "no range of bytes '8k-4k'"},
        {"allreduce: 0-99999999999999999999999@oneshot", "no range of bytes"},
        {"allreduce: oneshot", "cannot read 'oneshot'"},
    };
    char wrong[160];
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        assert_int_equal(tutti_rules_check(wrongs[i].text, wrong, sizeof wrong), TUTTI_ERR_SETTING);
        assert_non_null(strstr(wrong, wrongs[i].says));
    }
}

static void first_that_fits(void **state)
{
    (void)state;
    setenv("TUTTI_RULES", "allreduce: 0-8k@leader 0-8k@twoshot 8k-64k@staged", 1);
    setenv("TUTTI_DEVICE", "host", 1);
    assert_string_equal(tutti_rules_choice("allreduce", 8192, 4, 4), "twoshot"); /* leader needs shared GPUs */
    assert_string_equal(tutti_rules_choice("allreduce", 8192, 4, 2), "leader");
    assert_string_equal(tutti_rules_choice("allreduce", 8193, 4, 4), "staged");
    assert_string_equal(tutti_rules_choice("allreduce", 65537, 4, 4), "direct"); /* the default */
}

/* Whatever the bytes, the reader ends and says yes or no. */
static void any_text(void **state)
{
    (void)state;
    static const char alphabet[] = "allreduce: 0123456789kmg-*@;,oneshot\n\t";
    unsigned dice = 1;
    char text[64], wrong[160];
    for (int round = 0; round < 200000; round++) {
        size_t length = (size_t)(round % 63);
        for (size_t i = 0; i < length; i++) {
            dice = dice * 1664525u + 1013904223u;
            text[i] = alphabet[(dice >> 16) % (sizeof alphabet - 1)];
        }
        text[length] = '\0';
        wrong[0] = '\0';
        int status = tutti_rules_check(text, wrong, sizeof wrong);
        assert_true(status == TUTTI_OK || (status == TUTTI_ERR_SETTING && wrong[0] != '\0'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes),
        cmocka_unit_test(refuses),
        cmocka_unit_test(first_that_fits),
        cmocka_unit_test(any_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
