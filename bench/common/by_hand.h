/* What a program does that stages by itself. */
#ifndef TUTTI_BENCH_BY_HAND_H
#define TUTTI_BENCH_BY_HAND_H

#include <stddef.h>

/* A plain synchronous copy, done on return: the driver's own on CUDA, without questions of the library about the two
 * sides. `what` is for the message with which a failure ends all ranks. */
void bench_copy_by_hand(void *to, const void *from, size_t bytes, const char *what);

#endif
