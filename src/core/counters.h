/* Counters of calls by what became of them: one row a (call, outcome, reason). Outcomes (tutti/outcomes.def):
 * "accelerated: oneshot", "staged: user-defined operator", "passed: host memory" ... Rows are kept only with
 * TUTTI_STATS=1. Without it a call on device memory costs one addition, for the hint at MPI_Finalize (reasons.h). */
#ifndef TUTTI_CORE_COUNTERS_H
#define TUTTI_CORE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "core/reasons.h"

enum tutti_outcome {
#define TUTTI_OUTCOME(id, name, text) TUTTI_OUTCOME_##id,
#include "tutti/outcomes.def"
#undef TUTTI_OUTCOME
    TUTTI_OUTCOMES
};
const char *tutti_outcome_name(enum tutti_outcome outcome);

/* 1 if calls are counted. Set once, at the first use. */
extern int tutti_counting;

/* All of these are local and safe from any thread. `call` and `why` are static texts; why: the algorithm, or the
 * reason; how: NULL, or what follows the reason. bytes: of device memory that the call read or wrote on this rank: of a
 * message its length, of a reduction one contribution, of a data mover what is sent and what is received. */
void tutti_count_slow(const char *call, enum tutti_outcome outcome, const char *why, const char *how, uint64_t bytes);
static inline void tutti_count(const char *call, enum tutti_outcome outcome, const char *why)
{
    if (__builtin_expect(tutti_counting, 0))
        tutti_count_slow(call, outcome, why, NULL, 0);
}
/* A call that Tutti made itself. */
static inline void tutti_count_made(const char *call, const char *why, uint64_t bytes)
{
    tutti_tally_add(TUTTI_REASON_NONE, bytes);
    if (__builtin_expect(tutti_counting, 0))
        tutti_count_slow(call, TUTTI_OUTCOME_ACCELERATED, why, NULL, bytes);
}
/* A call that went through host memory. */
static inline void tutti_count_staged(const char *call, enum tutti_reason reason, const char *how, uint64_t bytes)
{
    tutti_tally_add(reason, bytes);
    if (__builtin_expect(tutti_counting, 0))
        tutti_count_slow(call, TUTTI_OUTCOME_STAGED, tutti_reasons[reason].text, how, bytes);
}
/* A message that has been received: its sender counts it for the hint. */
static inline void tutti_count_received(const char *call, enum tutti_outcome outcome, const char *why, const char *how,
                                        uint64_t bytes)
{
    if (__builtin_expect(tutti_counting, 0))
        tutti_count_slow(call, outcome, why, how, bytes);
}

struct tutti_counter {
    char text[160]; /* "MPI_Allreduce|accelerated|oneshot" */
    enum tutti_outcome outcome;
    uint64_t count, bytes;
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
