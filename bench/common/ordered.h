/* Calls in stream order: enqueued back to back, or captured in a graph that is replayed. Rounds go A B C A B C ...; in
 * a round every rank puts the same calls into its stream, and the time between two marks in the stream is divided by
 * their number. Some more calls before the first mark bring the ranks together. The last rounds' results are checked.
 */
#ifndef TUTTI_BENCH_ORDERED_H
#define TUTTI_BENCH_ORDERED_H

#include "bench/common/batch.h"
#include "bench/common/bench.h"

struct bench_ordered_column {
    const char *name;                   /* name in the progress line; NULL: the column is missing */
    int in_graph;                       /* 1: captured; 0: enqueued call by call */
    int calls, replays, rounds;         /* calls of one replay, replays of a round */
    struct bench_graph *graph, *single; /* single: of one call, for the check */
    double time[BENCH_BATCH_ROUNDS];    /* of one call in each round: the slowest rank's */
};

/* How the calls of columns are made. */
struct bench_ordered {
    const struct bench_plan *plan;
    const char *what; /* for the progress line */
    size_t bytes;
    int single; /* 1: the result of many calls in a row is not predictable: one more is made for the check */
    void *with;
    /* Before a round, not timed. round -1: before the first call. */
    void (*prepare)(void *with, int column, int round, int checked);
    void (*enqueue)(void *with, int column, int i);
    /* Before the call that is made only for the check; may be NULL. */
    void (*restore)(void *with, int column);
    /* Collective. last: number of the call whose result is checked. 1 if it is right, otherwise 0 after a report. */
    int (*check)(void *with, int column, int round, int last);
};

/* Collective; 1 if all checked results were right. Stores times in the columns. */
int bench_ordered_run(const struct bench_ordered *ordered, struct bench_ordered_column columns[], int n);
void bench_ordered_say(const struct bench_plan *plan, struct bench_ordered_column *column);
/* Collective. The median over rounds of one column, without checks. */
double bench_ordered_median(const struct bench_ordered *ordered, struct bench_ordered_column *column, int number);

#endif
