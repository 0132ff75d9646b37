/* Where the time of a message of device memory goes: the median time between its steps (trace.def), by size. Off unless
 * TUTTI_STATS is times (or tutti_trace_switch() was called): a mark is then one branch that is never taken.
 *
 * The marks of a thread have no gaps: a step is the time since the last mark of the thread, of any message. So
 * of windows of messages the number of a step counts too: one launch may be of many messages. */
#ifndef TUTTI_CORE_TRACE_H
#define TUTTI_CORE_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

enum tutti_trace_step {
#define TUTTI_TRACE_STEP(id, name, text) TUTTI_TRACE_##id,
#include "core/trace.def"
#undef TUTTI_TRACE_STEP
    TUTTI_TRACE_STEPS
};

/* 1: marks are recorded. Negative until the settings have been read, at the first mark. */
extern _Atomic int tutti_trace_on;

#define TUTTI_TRACED __builtin_expect(atomic_load_explicit(&tutti_trace_on, memory_order_relaxed), 0)

void tutti_trace_slow(enum tutti_trace_step step, uint64_t bytes);
void tutti_trace_way_slow(enum tutti_trace_step step, uint64_t stamp);
uint64_t tutti_trace_stamp_slow(void);

/* Local, safe from any thread. bytes: of the message; 0: of the thread's last mark. */
static inline void tutti_trace(enum tutti_trace_step step, uint64_t bytes)
{
    if (TUTTI_TRACED)
        tutti_trace_slow(step, bytes);
}
/* A time that another process of this machine may read; 0: nothing is recorded. */
static inline uint64_t tutti_trace_stamp(void)
{
    return TUTTI_TRACED ? tutti_trace_stamp_slow() : 0;
}
/* The step took from `stamp` (0: it is not counted) until now. No mark of the thread. */
static inline void tutti_trace_way(enum tutti_trace_step step, uint64_t stamp)
{
    if (TUTTI_TRACED)
        tutti_trace_way_slow(step, stamp);
}

/* Local. Recording on or off, for all threads; overrides the settings. */
void tutti_trace_switch(int on);
struct tutti_trace_figure {
    double median; /* ns */
    uint64_t count;
};
/* Local. What all threads have recorded of messages of all sizes since the last call, which it forgets. */
void tutti_trace_take(struct tutti_trace_figure out[TUTTI_TRACE_STEPS]);
const char *tutti_trace_name(int step); /* NULL past the last */

#endif
