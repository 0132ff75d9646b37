/* Tests by construction: functions of the library that a program has in their place, and memory by which its ranks meet
 * there. */
#ifndef TUTTI_TESTS_MEETING_H
#define TUTTI_TESTS_MEETING_H

#include <stddef.h>

/* Collective. Zeros that all ranks of the node share. */
void *meeting_open(size_t bytes);
void meeting_close(void *memory, size_t bytes);
/* The library's function. */
void *meeting_real(const char *name);

#endif
