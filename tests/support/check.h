/* Checks of a test process: failures are counted and the first ones shown. */
#ifndef TUTTI_TESTS_CHECK_H
#define TUTTI_TESTS_CHECK_H

#include <stdint.h>

enum { CHECK_SKIP = 77 };

/* Counts one check; where it fails shows the text on standard error. Returns `fine`. Safe from any thread. */
int check_that(int fine, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What the text shows is read after `fine` has been worked out, which may set it. */
#define CHECK(fine, ...)                                                                                               \
    ((fine) ? check_that(1, __FILE__, __LINE__, __VA_ARGS__) : check_that(0, __FILE__, __LINE__, __VA_ARGS__))

long check_done(void);
long check_failed(void);
/* Runs it in a forked child and checks that it returns 0. The thread sanitizer allows no threads there: nothing then.
 */
void check_in_child(int (*child)(void));
/* Rank shown in messages. */
void check_rank(int rank);
/* TUTTI_TEST_SEED: a number, or `clock` for another one in every run. Without it the same one always. */
uint64_t check_seed(void);
/* An integer from the environment. */
long check_setting(const char *name, long standard);
/* Likewise a number of random programs, rounds and the like, and the distance of the rows of a table that are tested:
 * for `make check-long`. `make check` has a quarter of them (TUTTI_TEST_LONG=1). */
long check_many(const char *name, long standard);
long check_every(const char *name, long standard);

#endif
