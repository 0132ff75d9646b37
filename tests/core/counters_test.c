/* Rows of counters: texts identify a call, not their addresses. */
#include <stdio.h>
#include <string.h>

#include "core/counters.h"
#include "support/check.h"

enum { CALLS = 3, WHYS = 200, HOWS = 3, ROUNDS = 5, ROOM = 512 };

static struct tutti_counter rows[ROOM];

static uint64_t counted(const char *text, uint64_t *bytes)
{
    const int n = tutti_counters_read(rows, ROOM);
    uint64_t count = 0;
    *bytes = 0;
    for (int i = 0; i < n; i++) {
        if (strcmp(rows[i].text, text) != 0)
            continue;
        CHECK(count == 0, "row %s is there twice", text);
        count = rows[i].count;
        *bytes = rows[i].bytes;
    }
    return count;
}

static void expect(const char *text, uint64_t count, uint64_t bytes)
{
    uint64_t is_bytes;
    const uint64_t is = counted(text, &is_bytes);
    CHECK(is == count && is_bytes == bytes, "%s: %llu calls of %llu bytes", text, (unsigned long long)is,
          (unsigned long long)is_bytes);
}

/* More rows than places by which a row is found again, each of them several times. */
static void many(void)
{
    static char why[WHYS][24];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WHYS; i++) {
            snprintf(why[i], sizeof why[i], "reason %d", i);
            tutti_count_slow("MPI_Send", TUTTI_OUTCOME_STAGED, why[i], NULL, 10);
            tutti_count_slow("MPI_Send", TUTTI_OUTCOME_ACCELERATED, why[i], i % HOWS ? "by a kernel" : NULL, 1);
        }
    }
    for (int i = 0; i < WHYS; i++) {
        char text[64];
        snprintf(text, sizeof text, "MPI_Send|staged|reason %d", i);
        expect(text, ROUNDS, 10 * ROUNDS);
        snprintf(text, sizeof text, "MPI_Send|accelerated|reason %d%s", i, i % HOWS ? ", by a kernel" : "");
        expect(text, ROUNDS, ROUNDS);
    }
}

/* The same addresses with other texts, one of them the beginning of the other. */
static void same_addresses(void)
{
    static char call[16], why[16], how[16];
    static const char *const texts[] = {"a", "ab", "abc"};
    for (int i = 0; i < CALLS * CALLS * CALLS; i++) {
        snprintf(call, sizeof call, "%s", texts[i % CALLS]);
        snprintf(why, sizeof why, "%s", texts[i / CALLS % CALLS]);
        snprintf(how, sizeof how, "%s", texts[i / CALLS / CALLS]);
        tutti_count_slow(call, TUTTI_OUTCOME_PASSED, why, how, 2);
        tutti_count_slow(call, TUTTI_OUTCOME_PASSED, why, how, 3);
    }
    expect("a|passed|ab, abc", 2, 5);
    expect("abc|passed|a, ab", 2, 5);
    expect("ab|passed|ab, ab", 2, 5);
    tutti_count_slow("none", TUTTI_OUTCOME_PASSED, NULL, NULL, 0);
    tutti_count_slow("none", TUTTI_OUTCOME_PASSED, NULL, NULL, 0);
    expect("none|passed|", 2, 0);
}

int main(void)
{
    many();
    same_addresses();
    printf("%ld checks\n", check_done());
    return check_failed() > 0;
}
