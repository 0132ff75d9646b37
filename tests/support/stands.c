#include "support/stands.h"

#include <execinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"

enum { DEPTH = 64, TEXT = 160 };
static char text[TEXT] = "before its first call";
static int rank, reports;
static struct timespec start;

static long seconds_since(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)(now.tv_sec - start.tv_sec);
}

/* A report is one write, or reports of several ranks would be mixed. The stack follows it. */
static void report(int signal)
{
    char line[TEXT + 80];
    void *frame[DEPTH];
    (void)signal;
    const int n = snprintf(line, sizeof line, "rank %d stands after %ld s at %s\n", rank, seconds_since(), text);
    const ssize_t written = write(STDERR_FILENO, line, (size_t)n);
    if (written == n)
        backtrace_symbols_fd(frame, backtrace(frame, DEPTH), STDERR_FILENO);
}

void stands_open(int of_rank)
{
    const long every = check_setting("TUTTI_TEST_STANDS", 0);
    void *frame[1];
    rank = of_rank;
    reports = every > 0;
    if (!reports)
        return;
    clock_gettime(CLOCK_MONOTONIC, &start);
    (void)backtrace(frame, 1); /* its first call allocates memory, which a signal handler may not */
    struct sigaction action = {.sa_handler = report, .sa_flags = SA_RESTART};
    const struct itimerval timer = {.it_interval = {.tv_sec = every}, .it_value = {.tv_sec = every}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

void stands_at(const char *format, ...)
{
    char next[TEXT];
    va_list arguments;
    if (!reports)
        return;
    va_start(arguments, format);
    vsnprintf(next, sizeof next, format, arguments);
    va_end(arguments);
    memcpy(text, next, sizeof text);
}
