#include "core/reasons.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Fewer bytes of all ranks together cost no time that a user would notice. */
enum { LEAST_BYTES = 1 << 20 };

const struct tutti_reason_row tutti_reasons[TUTTI_REASONS] = {
    [TUTTI_REASON_NONE] = {"", "", 0},
#define TUTTI_REASON(id, where, mend, text, hint) [TUTTI_REASON_##id] = {text, hint, mend},
#include "tutti/reasons.def"
#undef TUTTI_REASON
};

static _Thread_local enum tutti_reason set;
static _Atomic uint64_t tally[TUTTI_REASONS];
static int hint_is_off;

enum tutti_reason tutti_reason_of(const char *text)
{
    if (!text)
        return TUTTI_REASON_OTHER;
    for (int r = TUTTI_REASON_NONE + 1; r < TUTTI_REASONS; r++) {
        if (text == tutti_reasons[r].text)
            return (enum tutti_reason)r;
    }
    for (int r = TUTTI_REASON_NONE + 1; r < TUTTI_REASONS; r++) {
        if (strcmp(text, tutti_reasons[r].text) == 0)
            return (enum tutti_reason)r;
    }
    return TUTTI_REASON_OTHER;
}

void tutti_why_set(enum tutti_reason reason)
{
    set = reason;
}

enum tutti_reason tutti_why_take(enum tutti_reason otherwise)
{
    const enum tutti_reason reason = set;
    set = TUTTI_REASON_NONE;
    return reason == TUTTI_REASON_NONE ? otherwise : reason;
}

void tutti_tally_add(enum tutti_reason reason, uint64_t bytes)
{
    atomic_fetch_add_explicit(&tally[reason], bytes, memory_order_relaxed);
}

void tutti_tally_read(uint64_t bytes[TUTTI_REASONS])
{
    for (int r = 0; r < TUTTI_REASONS; r++)
        bytes[r] = atomic_load_explicit(&tally[r], memory_order_relaxed);
}

void tutti_tally_hint_off(void)
{
    hint_is_off = 1;
}

int tutti_tally_hint(const uint64_t bytes[TUTTI_REASONS], char *out, size_t size)
{
    uint64_t all = 0, mendable = 0;
    int most = TUTTI_REASON_NONE;
    for (int r = 0; r < TUTTI_REASONS; r++) {
        all += bytes[r];
        if (!tutti_reasons[r].mend || bytes[r] == 0)
            continue;
        mendable += bytes[r];
        most = most == TUTTI_REASON_NONE || bytes[r] > bytes[most] ? r : most;
    }
    if (hint_is_off || all < LEAST_BYTES || mendable <= all / 2)
        return 0;
    snprintf(
        out, size,
        "%.0f %% of the device memory in MPI calls went through host memory, %.0f %%: %s. %s (TUTTI_STATS=1 counts)",
        100.0 * (double)mendable / (double)all, 100.0 * (double)bytes[most] / (double)all, tutti_reasons[most].text,
        tutti_reasons[most].hint);
    return 1;
}
