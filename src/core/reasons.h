/* Why calls on device memory go through host memory (tutti/reasons.def), and how many bytes each reason has cost the
 * process. */
#ifndef TUTTI_CORE_REASONS_H
#define TUTTI_CORE_REASONS_H

#include <stddef.h>
#include <stdint.h>

enum tutti_reason {
    TUTTI_REASON_NONE,
#define TUTTI_REASON(id, where, mend, text, hint) TUTTI_REASON_##id,
#include "tutti/reasons.def"
#undef TUTTI_REASON
    TUTTI_REASONS
};

struct tutti_reason_row {
    const char *text, *hint;
    int mend;
};
extern const struct tutti_reason_row tutti_reasons[TUTTI_REASONS];
#define TUTTI_REASON_TEXT(id) tutti_reasons[TUTTI_REASON_##id].text

/* The row of a text, where a text travels instead of a reason; OTHER where no row has it. */
enum tutti_reason tutti_reason_of(const char *text);

/* ---- the reason of the call that this thread is in ----
 *
 * A function that decides that a message or a collective needs the MPI sets the reason where it
 * returns "no"; the last reason counts. The call that stages then takes it, which leaves NONE behind. */
void tutti_why_set(enum tutti_reason reason);
/* The reason that was set last, or `otherwise` if none was. */
enum tutti_reason tutti_why_take(enum tutti_reason otherwise);
/* Sets the reason and is 0, or NULL: for return statements. */
#define TUTTI_NO(reason)   (tutti_why_set(TUTTI_REASON_##reason), 0)
#define TUTTI_NONE(reason) (tutti_why_set(TUTTI_REASON_##reason), NULL)

/* ---- bytes ---- */

/* Bytes of device memory by reason; those of NONE went past host memory. A message counts at its sender alone. */
void tutti_tally_add(enum tutti_reason reason, uint64_t bytes);
void tutti_tally_read(uint64_t bytes[TUTTI_REASONS]);
/* 1 if more than half of the bytes (of all ranks) were staged for reasons that the user can change: `out` is the
 * hint of the reason with most bytes. */
int tutti_tally_hint(const uint64_t bytes[TUTTI_REASONS], char *out, size_t size);
/* For programs that stage messages on purpose: there is no hint from now on. */
void tutti_tally_hint_off(void);

#endif
