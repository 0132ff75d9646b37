/* Where a test process stands: every TUTTI_TEST_STANDS seconds the process writes the text below, the time since its
 * start and the stacks of all its threads to standard error, so that a test that does not end shows whether it
 * waits or is slow, and in which call. */
#ifndef TUTTI_TESTS_STANDS_H
#define TUTTI_TESTS_STANDS_H

/* Local. Starts the reports. Nothing happens without the setting. */
void stands_open(int rank);
/* The text of the next reports. */
void stands_at(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
