/* A recorder of where the time of a blocking call goes, and the same as NVTX ranges. Off unless TUTTI_STATS
 * is times (or tutti_phases_switch() was called): a mark is then one branch that is never taken.
 *
 * A mark says what the calling thread does from there on; the time since its last mark is added to the phase of that
 * mark. So the phases of a call have no gaps and do not overlap. Marks outside a call are ignored. */
#ifndef TUTTI_CORE_PHASES_H
#define TUTTI_CORE_PHASES_H

#include <stdatomic.h>
#include <stdint.h>

enum tutti_phase {
#define TUTTI_PHASE(id, name, text) TUTTI_PHASE_##id,
#include "core/phases.def"
#undef TUTTI_PHASE
    TUTTI_PHASES
};

/* Not zero: marks are looked at. Negative until the settings have been read, at the first mark. */
extern _Atomic int tutti_phases_on;

#define TUTTI_PHASES_WATCHED __builtin_expect(atomic_load_explicit(&tutti_phases_on, memory_order_relaxed), 0)

void tutti_phase_begin_slow(const char *call);
enum tutti_phase tutti_phase_slow(enum tutti_phase phase);
void tutti_phase_end_slow(void);
void tutti_phase_hold_slow(int on);

/* Local, safe from any thread. A call begins, in TUTTI_PHASE_ARRIVAL; `call` is a static text. Within another call of
 * the same thread it counts as a part of the outer call. */
static inline void tutti_phase_begin(const char *call)
{
    if (TUTTI_PHASES_WATCHED)
        tutti_phase_begin_slow(call);
}
/* The call goes over to `phase`; returns the one before, so that it can go back. */
static inline enum tutti_phase tutti_phase(enum tutti_phase phase)
{
    return TUTTI_PHASES_WATCHED ? tutti_phase_slow(phase) : phase;
}
static inline void tutti_phase_end(void)
{
    if (TUTTI_PHASES_WATCHED)
        tutti_phase_end_slow();
}

/* Marks of the calling thread change nothing while on: of a part of a call whose inner phases do not matter. */
static inline void tutti_phase_hold(int on)
{
    if (TUTTI_PHASES_WATCHED)
        tutti_phase_hold_slow(on);
}

/* Local. Turns recording on or off for all threads; overrides the settings. */
void tutti_phases_switch(int on);
/* Local. Nanoseconds that the calling thread has spent in each phase since it last asked, and the number of its calls.
 */
uint64_t tutti_phases_take(uint64_t ns[TUTTI_PHASES]);
const char *tutti_phase_name(int phase); /* NULL past the last */
/* 1 if this build can make NVTX ranges. */
int tutti_phases_have_nvtx(void);

#endif
