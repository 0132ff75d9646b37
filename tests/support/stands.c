#include "support/stands.h"

#include <dirent.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

/* The stack of the thread that gets the signal. A report is one write, or reports of several ranks would be mixed. */
static void report(int signal)
{
    char line[TEXT + 80];
    void *frame[DEPTH];
    const long thread = syscall(SYS_gettid);
    int n;
    (void)signal;
    if (thread == getpid())
        n = snprintf(line, sizeof line, "rank %d stands after %ld s at %s\n", rank, seconds_since(), text);
    else
        n = snprintf(line, sizeof line, "rank %d stands after %ld s: thread %ld\n", rank, seconds_since(), thread);
    const ssize_t written = write(STDERR_FILENO, line, (size_t)n);
    if (written == n)
        backtrace_symbols_fd(frame, backtrace(frame, DEPTH), STDERR_FILENO);
}

/* One thread after the other, so that stacks are not mixed. */
static void ask_threads(long own)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    DIR *const threads = opendir("/proc/self/task");
    const struct dirent *entry;
    while (threads && (entry = readdir(threads)) != NULL) {
        const long thread = strtol(entry->d_name, NULL, 10);
        if (thread > 0 && thread != own && syscall(SYS_tgkill, getpid(), thread, SIGURG) == 0)
            nanosleep(&pause, NULL);
    }
    if (threads)
        closedir(threads);
}

static void *watch(void *with)
{
    const struct timespec period = {.tv_sec = *(const long *)with};
    for (;;) {
        nanosleep(&period, NULL);
        ask_threads(syscall(SYS_gettid));
    }
    return NULL;
}

void stands_open(int of_rank)
{
    static long every;
    void *frame[1];
    pthread_t thread;
    every = check_setting("TUTTI_TEST_STANDS", 0);
    rank = of_rank;
    reports = every > 0;
    if (!reports)
        return;
    clock_gettime(CLOCK_MONOTONIC, &start);
    (void)backtrace(frame, 1); /* its first call allocates memory, which a signal handler may not */
    struct sigaction action = {.sa_handler = report, .sa_flags = SA_RESTART};
    sigaction(SIGURG, &action, NULL);
    reports = pthread_create(&thread, NULL, watch, &every) == 0;
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
