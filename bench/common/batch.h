/* Calls in stream order are timed many at a time, since one alone is shorter than what the clock adds. */
#ifndef TUTTI_BENCH_BATCH_H
#define TUTTI_BENCH_BATCH_H

#include <stddef.h>

enum { BENCH_BATCH_ROUNDS = 9, BENCH_BATCH_ROUNDS_MOST = 64 };

struct bench_batch {
    int calls;   /* in a graph, or one after the other */
    int replays; /* of them between two marks in the stream */
    int rounds;  /* of which a median is made */
};

/* Local. What messages of so many bytes take. */
struct bench_batch bench_batch_of(size_t bytes);

#endif
