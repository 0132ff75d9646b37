#include "support/check.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/random.h"

enum { SHOWN = 12 };
static _Atomic long done, failed;
static int own_rank = -1;

int check_that(int fine, const char *file, int line, const char *format, ...)
{
    atomic_fetch_add(&done, 1);
    if (fine)
        return 1;
    long number = atomic_fetch_add(&failed, 1);
    if (number < SHOWN) {
        char text[512];
        va_list list;
        va_start(list, format);
        vsnprintf(text, sizeof text, format, list);
        va_end(list);
        const char *name = strrchr(file, '/');
        fprintf(stderr, "FAILED rank %d %s:%d: %s\n", own_rank, name ? name + 1 : file, line, text);
    } else if (number == SHOWN) {
        fprintf(stderr, "FAILED rank %d: further failures are not shown\n", own_rank);
    }
    return 0;
}

long check_done(void)
{
    return done;
}

long check_failed(void)
{
    return failed;
}

void check_in_child(int (*child)(void))
{
#ifndef __SANITIZE_THREAD__
    int status = -1;
    const pid_t forked = fork();
    if (forked == 0)
        _exit(child());
    CHECK(forked > 0 && waitpid(forked, &status, 0) == forked && status == 0, "a forked child: %#x", (unsigned)status);
#else
    (void)child;
#endif
}

void check_rank(int rank)
{
    own_rank = rank;
}

long check_setting(const char *name, long standard)
{
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 0) : standard;
}

/* TUTTI_TEST_LONG, as cmake/TuttiTest.cmake sets it: 1 keeps a quarter, 2 keeps all, more keeps half as many times all.
 */
enum { QUARTER = 1, ALL = 2 };

long check_many(const char *name, long standard)
{
    const long many = check_setting(name, standard), times = check_setting("TUTTI_TEST_LONG", ALL);
    return times == QUARTER ? (many + 3) / 4 : many * times / ALL;
}

long check_every(const char *name, long standard)
{
    const long every = check_setting(name, standard), times = check_setting("TUTTI_TEST_LONG", ALL);
    return times == QUARTER ? every * 4 : times > every * ALL ? 1 : every * ALL / times;
}

uint64_t check_seed(void)
{
    const char *text = getenv("TUTTI_TEST_SEED");
    if (!text || !*text)
        return 20261121;
    if (strcmp(text, "clock") != 0)
        return strtoull(text, NULL, 0);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return random_mix((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) >> 32;
}
