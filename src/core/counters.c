#include "core/counters.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"

enum { ROWS = 512 };

int tutti_counting;
static struct tutti_counter rows[ROWS];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tutti_counters_start(void)
{
    tutti_counting = tutti_settings()->stats;
}

static int counters_find(struct tutti_counter *table, int n, int room, const char *text)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(table[i].text, text) == 0)
            return i;
    }
    if (n == room)
        return -1;
    snprintf(table[n].text, sizeof table[n].text, "%s", text);
    table[n].count = table[n].bytes = 0;
    return n;
}

const char *tutti_outcome_name(enum tutti_outcome outcome)
{
    static const char *const names[TUTTI_OUTCOMES] = {
#define TUTTI_OUTCOME(id, name, text) name,
#include "tutti/outcomes.def"
#undef TUTTI_OUTCOME
    };
    return names[outcome];
}

/* The row of each call that is counted often, by the addresses of its texts; the lock is held. */
enum { HINTS = 256 };
static struct hint {
    const char *call, *why, *how;
    enum tutti_outcome outcome;
    int row; /* + 1; 0: none */
} hints[HINTS];

static struct hint *hint_of(const struct hint *key)
{
    const uintptr_t all =
        ((uintptr_t)key->call * 3 + (uintptr_t)key->why * 5 + (uintptr_t)key->how * 7) ^ (uintptr_t)key->outcome;
    return &hints[(all ^ all >> 8 ^ all >> 16) % HINTS];
}

/* The rest of `at` behind `part`; NULL: `at` does not begin with `part`. */
static const char *behind(const char *at, const char *part)
{
    const size_t n = strlen(part);
    return at && strncmp(at, part, n) == 0 ? at + n : NULL;
}

static int is_row_of(const struct hint *hint, const char *text)
{
    text = behind(text, hint->call);
    text = behind(behind(text, "|"), tutti_outcome_name(hint->outcome));
    text = behind(behind(text, "|"), hint->why ? hint->why : "");
    text = hint->how ? behind(behind(text, ", "), hint->how) : text;
    return text && !*text;
}

/* The row, a new one at its first use; -1: there are too many. */
static int hint_row(const struct hint *key)
{
    char text[sizeof rows[0].text];
    snprintf(text, sizeof text, "%s|%s|%s%s%s", key->call, tutti_outcome_name(key->outcome), key->why ? key->why : "",
             key->how ? ", " : "", key->how ? key->how : "");
    const int i = counters_find(rows, used, ROWS, text);
    used += i == used;
    return i;
}

void tutti_count_slow(const char *call, enum tutti_outcome outcome, const char *why, const char *how, uint64_t bytes)
{
    const struct hint key = {.call = call, .why = why, .how = how, .outcome = outcome};
    pthread_mutex_lock(&lock);
    struct hint *hint = hint_of(&key);
    int i = hint->row - 1;
    if (i < 0 || hint->call != call || hint->why != why || hint->how != how || hint->outcome != outcome ||
        !is_row_of(&key, rows[i].text)) {
        i = hint_row(&key);
        *hint = key;
        hint->row = i + 1;
    }
    if (i >= 0) {
        rows[i].outcome = outcome;
        rows[i].count++;
        rows[i].bytes += bytes;
    }
    pthread_mutex_unlock(&lock);
}

int tutti_counters_read(struct tutti_counter *out, int room)
{
    pthread_mutex_lock(&lock);
    int n = used;
    memcpy(out, rows, (size_t)(n < room ? n : room) * sizeof *out);
    pthread_mutex_unlock(&lock);
    return n;
}

int tutti_counters_merge(struct tutti_counter *into, int n, int room, const struct tutti_counter *from, int more)
{
    for (int j = 0; j < more; j++) {
        int i = counters_find(into, n, room, from[j].text);
        if (i < 0)
            break;
        into[i].outcome = from[j].outcome;
        into[i].count += from[j].count;
        into[i].bytes += from[j].bytes;
        n += i == n;
    }
    return n;
}

/* By call, then by the rest: a call comes before one whose name is longer. */
static int by_text(const void *a, const void *b)
{
    const char *one = ((const struct tutti_counter *)a)->text, *other = ((const struct tutti_counter *)b)->text;
    const size_t call = strcspn(one, "|"), other_call = strcspn(other, "|");
    const int differs = strncmp(one, other, call < other_call ? call : other_call);
    if (differs || call == other_call)
        return differs ? differs : strcmp(one + call, other + call);
    return call < other_call ? -1 : 1;
}

size_t tutti_counters_print(const struct tutti_counter *table, int n, char *out, size_t size)
{
    struct tutti_counter *sorted = malloc((size_t)(n ? n : 1) * sizeof *sorted);
    if (!sorted || size == 0) {
        free(sorted);
        return 0;
    }
    memcpy(sorted, table, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_text);
    size_t at = (size_t)snprintf(out, size, "tutti: %-26s %-12s %14s %16s  %s\n", "call", "outcome", "count", "bytes",
                                 "how or why");
    for (int i = 0; i < n && at < size; i++) {
        char *call = sorted[i].text, *how = strchr(call, '|'), *why = how ? strchr(how + 1, '|') : NULL;
        if (!why)
            continue;
        *how = *why = '\0';
        at += (size_t)snprintf(out + at, size - at, "tutti: %-26s %-12s %14llu %16llu  %s\n", call, how + 1,
                               (unsigned long long)sorted[i].count, (unsigned long long)sorted[i].bytes, why + 1);
    }
    free(sorted);
    return at < size ? at : size - 1;
}
