/* What this process writes on standard error, so that a test can look at it. Not for several threads at once. */
#ifndef TUTTI_TESTS_CAPTURE_H
#define TUTTI_TESTS_CAPTURE_H

void capture_start(void);
/* Standard error goes where it went before; the text since the start, valid until the next start. */
const char *capture_end(void);
/* How often `word` occurs in `text`. */
int capture_count(const char *text, const char *word);

#endif
