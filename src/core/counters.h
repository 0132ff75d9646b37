/* Counters of calls by what became of them: one row a (call, outcome). Outcomes (tutti/outcomes.def):
 * "accelerated: oneshot", "staged: user-defined operator", "passed: host memory" ... Counting is on only with
 * TUTTI_STATS=1, so that it costs nothing otherwise. */
#ifndef TUTTI_CORE_COUNTERS_H
#define TUTTI_CORE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

enum tutti_outcome {
#define TUTTI_OUTCOME(id, name, text) TUTTI_OUTCOME_##id,
#include "tutti/outcomes.def"
#undef TUTTI_OUTCOME
    TUTTI_OUTCOMES
};
const char *tutti_outcome_name(enum tutti_outcome outcome);

/* 1 where calls are counted. Set once, at the first use. */
extern int tutti_counting;

/* Local, safe from any thread. `call` and `why` are static texts; why: the algorithm, or the reason. */
void tutti_count_slow(const char *call, enum tutti_outcome outcome, const char *why);
static inline void tutti_count(const char *call, enum tutti_outcome outcome, const char *why)
{
    if (__builtin_expect(tutti_counting, 0))
        tutti_count_slow(call, outcome, why);
}

struct tutti_counter {
    char text[112]; /* "MPI_Allreduce|accelerated|oneshot" */
    enum tutti_outcome outcome;
    uint64_t count;
};
/* Turns counting on or off as TUTTI_STATS says. */
void tutti_counters_start(void);
/* Copies at most `room` rows; returns how many there are. */
int tutti_counters_read(struct tutti_counter *out, int room);
/* Adds rows (of other ranks) to the n of `into`, by text; returns the new number of rows. */
int tutti_counters_merge(struct tutti_counter *into, int n, int room, const struct tutti_counter *from, int more);
/* The table as text, sorted by call, for standard error. Returns bytes written. */
size_t tutti_counters_print(const struct tutti_counter *table, int n, char *out, size_t size);

#endif
