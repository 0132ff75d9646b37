/* What the environment holds is shown, not obeyed: no control character reaches the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/log.h"
#include "core/settings.h"

static int controls(const char *text)
{
    int n = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        n += (*at < 0x20 && *at != '\n') || *at == 0x7f || *at == 0x9b;
    return n;
}

static void texts(void **state)
{
    (void)state;
    char out[64], few[8];
    assert_string_equal(tutti_plain("allreduce: *@ll", out, sizeof out), "allreduce: *@ll");
    assert_string_equal(tutti_plain("a\x1b[2J\r\n\x7f", out, sizeof out), "a\\x1b[2J\\x0d\\x0a\\x7f");
    assert_string_equal(tutti_plain("\x9b", out, sizeof out), "\\x9b");
    assert_string_equal(tutti_plain("\xc2\x9b", out, sizeof out), "\xc2\\x9b");
    assert_string_equal(tutti_plain("/tmp/M\xc3\xbcller/\xe2\x82\x80", out, sizeof out),
                        "/tmp/M\xc3\xbcller/\xe2\x82\x80");
    assert_true(strlen(tutti_plain("\x01\x01\x01\x01", few, sizeof few)) < sizeof few);
    assert_string_equal(tutti_plain("", few, sizeof few), "");
}

static void settings(void **state)
{
    (void)state;
    struct tutti_settings read;
    char wrong[2048];
    setenv("TUTTI_WAIT", "\x1b]0;title\a", 1);
    setenv("TUTTI_WA\x1b[31mIT", "x", 1);
    setenv("TUTTI_CHANNEL_MB", "1\ntutti: all is well", 1);
    assert_int_not_equal(tutti_settings_read(&read, wrong, sizeof wrong), 0);
    assert_int_equal(controls(wrong), 0);
    assert_non_null(strstr(wrong, "TUTTI_WAIT=\\x1b]0;title\\x07 is not valid"));
    assert_non_null(strstr(wrong, "TUTTI_WA\\x1b[31mIT is not a setting"));
    assert_null(strstr(wrong, "\ntutti: all is well"));
    unsetenv("TUTTI_WAIT");
    unsetenv("TUTTI_WA\x1b[31mIT");
    unsetenv("TUTTI_CHANNEL_MB");
}

static void lines(void **state)
{
    (void)state;
    char said[4096] = "";
    int file = memfd_create("said", MFD_CLOEXEC), before = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    tutti_error("a rank called %s\x1b[2J has gone", "\r\nit\x1b");
    dup2(before, STDERR_FILENO);
    assert_true(pread(file, said, sizeof said - 1, 0) > 0);
    assert_string_equal(said, "tutti: a rank called \\x0d\\x0ait\\x1b\\x1b[2J has gone\n");
    close(file);
    close(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(settings), cmocka_unit_test(lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
