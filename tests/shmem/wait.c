/* Waits and tests: one, all, any, some, their vectors, every type and comparison; signals. A test looks at words that
 * do not change, against a plain loop; a wait at words that a peer changes later. */
#include <time.h>

#include "shmem/kit.h"

enum { WORDS = 12, ROUNDS = 40 };

static char *words; /* symmetric */

#define HOLDS(id, is)                                                                                                  \
    case TSHMEM_CMP_##id:                                                                                              \
        return a is b;

/* What any gives: one of those that hold, SIZE_MAX where none does. */
static int is_one_of(size_t index, const size_t *hold, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (hold[i] == index)
            return 1;
    }
    return n == 0 && index == SIZE_MAX;
}

/* The sign of an element matters, so each type compares its own. */
#define TESTS(name, type, kind, what)                                                                                  \
    static int holds_##name(type a, int comparison, type b)                                                            \
    {                                                                                                                  \
        switch (comparison) {                                                                                          \
            TSHMEM_COMPARISONS(HOLDS)                                                                                  \
        default:                                                                                                       \
            return 0;                                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void tests_##name(uint64_t round)                                                                           \
    {                                                                                                                  \
        type *const at = (type *)(void *)words, held[WORDS], values[WORDS];                                            \
        int status[WORDS];                                                                                             \
        size_t some[WORDS], some_vector[WORDS], n = shmem_draw(round, 1, 1) % (WORDS + 1), wanted = 0, hold = 0;       \
        size_t hold_vector = 0;                                                                                        \
        const int comparison = (int)(round % TSHMEM_COMPARISON_COUNT);                                                 \
        const type value = (type)(shmem_draw(round, 2, 2) % 5 - 2);                                                    \
        const int masked = shmem_draw(round, 3, 3) % 2 != 0;                                                           \
        for (size_t i = 0; i < WORDS; i++) {                                                                           \
            held[i] = (type)(shmem_draw(round, 4, i) % 5 - 2);                                                         \
            values[i] = (type)(shmem_draw(round, 5, i) % 5 - 2);                                                       \
            status[i] = shmem_draw(round, 6, i) % 3 == 0;                                                              \
        }                                                                                                              \
        shmem_store(at, held, sizeof held);                                                                            \
        for (size_t i = 0; i < n; i++) {                                                                               \
            if (masked && status[i])                                                                                   \
                continue;                                                                                              \
            wanted++;                                                                                                  \
            if (holds_##name(held[i], comparison, value))                                                              \
                some[hold++] = i;                                                                                      \
            if (holds_##name(held[i], comparison, values[i]))                                                          \
                some_vector[hold_vector++] = i;                                                                        \
        }                                                                                                              \
        const int *mask = masked ? status : NULL;                                                                      \
        size_t got[WORDS];                                                                                             \
        CHECK(tshmem_##name##_test(at, comparison, value) == holds_##name(held[0], comparison, value), "%s_test",      \
              #name);                                                                                                  \
        CHECK(tshmem_##name##_test_all(at, n, mask, comparison, value) == (hold == wanted), "%s_test_all", #name);     \
        CHECK(is_one_of(tshmem_##name##_test_any(at, n, mask, comparison, value), some, hold), "%s_test_any", #name);  \
        CHECK(tshmem_##name##_test_some(at, n, got, mask, comparison, value) == hold &&                                \
                  memcmp(got, some, hold * sizeof *got) == 0,                                                          \
              "%s_test_some", #name);                                                                                  \
        CHECK(tshmem_##name##_test_all_vector(at, n, mask, comparison, values) == (hold_vector == wanted),             \
              "%s_test_all_vector", #name);                                                                            \
        CHECK(is_one_of(tshmem_##name##_test_any_vector(at, n, mask, comparison, values), some_vector, hold_vector),   \
              "%s_test_any_vector", #name);                                                                            \
        CHECK(tshmem_##name##_test_some_vector(at, n, got, mask, comparison, values) == hold_vector &&                 \
                  memcmp(got, some_vector, hold_vector * sizeof *got) == 0,                                            \
              "%s_test_some_vector", #name);                                                                           \
    }
TSHMEM_WAIT(TESTS, )

static void pause_a_little(uint64_t draw)
{
    if (draw % 3 == 0)
        nanosleep(&(const struct timespec){0, (long)(draw % 7) * 30000}, NULL);
}

/* The PE before stores 1, 2 ... into the words of this one, in an order that it draws; each wait sees what it should.
 */
#define WAITS(name, type, kind, what)                                                                                  \
    static void waits_##name(uint64_t round)                                                                           \
    {                                                                                                                  \
        const int next = (tshmem_my_pe() + 1) % tshmem_n_pes();                                                        \
        type *const at = (type *)(void *)words;                                                                        \
        type values[WORDS];                                                                                            \
        size_t got[WORDS];                                                                                             \
        unsigned seen = 0;                                                                                             \
        int status[WORDS] = {0};                                                                                       \
        shmem_set(words, 0, WORDS * 8);                                                                                \
        tshmem_barrier_all();                                                                                          \
        const size_t turn = shmem_draw(round, 7, (uint64_t)next) % WORDS;                                              \
        for (size_t i = 0; i < WORDS; i++) {                                                                           \
            pause_a_little(shmem_draw(round, 8, i));                                                                   \
            tshmem_##name##_p(at + (turn + i) % WORDS, (type)((turn + i) % WORDS + 1), next);                          \
        }                                                                                                              \
        for (size_t i = 0; i < WORDS; i++)                                                                             \
            values[i] = (type)(i + 1);                                                                                 \
        switch (round % 6) {                                                                                           \
        case 0:                                                                                                        \
            tshmem_##name##_wait_until(at + 3, TSHMEM_CMP_EQ, 4);                                                      \
            CHECK(SEE(at + 3) == 4, "%s_wait_until", #name);                                                           \
            break;                                                                                                     \
        case 1:                                                                                                        \
            tshmem_##name##_wait_until_all(at, WORDS, NULL, TSHMEM_CMP_GT, 0);                                         \
            for (size_t i = 0; i < WORDS; i++)                                                                         \
                CHECK(SEE(at + i) == (type)(i + 1), "%s_wait_until_all", #name);                                       \
            break;                                                                                                     \
        case 2:                                                                                                        \
            for (size_t i = 0; i < WORDS; i++) {                                                                       \
                const size_t one = tshmem_##name##_wait_until_any(at, WORDS, status, TSHMEM_CMP_NE, 0);                \
                if (!CHECK(one < WORDS && !(seen >> one & 1) && SEE(at + one) == (type)(one + 1), "%s_wait_until_any", \
                           #name))                                                                                     \
                    break;                                                                                             \
                seen |= 1u << one;                                                                                     \
                status[one] = 1;                                                                                       \
            }                                                                                                          \
            CHECK(tshmem_##name##_wait_until_any(at, WORDS, status, TSHMEM_CMP_NE, 0) == SIZE_MAX,                     \
                  "nothing to wait for");                                                                              \
            break;                                                                                                     \
        case 3:                                                                                                        \
            while (seen != (1u << WORDS) - 1) {                                                                        \
                const size_t found = tshmem_##name##_wait_until_some(at, WORDS, got, status, TSHMEM_CMP_GE, 1);        \
                if (!CHECK(found > 0 && found <= WORDS, "%s_wait_until_some", #name))                                  \
                    break;                                                                                             \
                for (size_t i = 0; i < found; i++) {                                                                   \
                    CHECK(SEE(at + got[i]) == (type)(got[i] + 1) && !status[got[i]], "%s_wait_until_some", #name);     \
                    seen |= 1u << got[i];                                                                              \
                    status[got[i]] = 1;                                                                                \
                }                                                                                                      \
            }                                                                                                          \
            CHECK(tshmem_##name##_wait_until_some(at, WORDS, got, status, TSHMEM_CMP_GE, 1) == 0,                      \
                  "nothing to wait for");                                                                              \
            break;                                                                                                     \
        case 4:                                                                                                        \
            tshmem_##name##_wait_until_all_vector(at, WORDS, NULL, TSHMEM_CMP_EQ, values);                             \
            for (size_t i = 0; i < WORDS; i++)                                                                         \
                CHECK(SEE(at + i) == values[i], "%s_wait_until_all_vector", #name);                                    \
            break;                                                                                                     \
        default: {                                                                                                     \
            const size_t one = tshmem_##name##_wait_until_any_vector(at, WORDS, NULL, TSHMEM_CMP_EQ, values);          \
            CHECK(one < WORDS && SEE(at + one) == values[one], "%s_wait_until_any_vector", #name);                     \
            const size_t found = tshmem_##name##_wait_until_some_vector(at, WORDS, got, NULL, TSHMEM_CMP_EQ, values);  \
            CHECK(found > 0 && SEE(at + got[found - 1]) == values[got[found - 1]], "%s_wait_until_some_vector",        \
                  #name);                                                                                              \
        }                                                                                                              \
        }                                                                                                              \
        tshmem_barrier_all();                                                                                          \
    }
TSHMEM_WAIT(WAITS, )

/* Data put before a signal are there when the signal is seen; the payload is as long as a few lines, so that a signal
 * that came early would be noticed. Signals that add count all senders. */
static void signals(void)
{
    enum { LONGS = 40000, TIMES = 200 };
    const int me = tshmem_my_pe(), pes = tshmem_n_pes(), next = (me + 1) % pes, before = (me + pes - 1) % pes;
    static uint64_t source[LONGS];
    uint64_t *data = tshmem_calloc(LONGS, sizeof *data), *signal = tshmem_calloc(2, sizeof *signal);
    uint64_t *reply = tshmem_calloc(1, sizeof *reply);
    const int plain = shmem_is_plain(data), times = plain ? TIMES : TIMES / 4;
    const uint64_t *seen = plain ? data : malloc(LONGS * sizeof *data);
    int wrong = 0;
    for (uint64_t t = 1; t <= (uint64_t)times; t++) {
        for (size_t i = 0; i < LONGS; i++)
            source[i] = t << 32 | (uint64_t)me;
        tshmem_put_signal(data, source, LONGS, signal, t, TSHMEM_SIGNAL_SET, next);
        CHECK(tshmem_signal_wait_until(signal, TSHMEM_CMP_EQ, t) == t, "the signal");
        if (!plain)
            shmem_load((void *)(uintptr_t)seen, data, LONGS * sizeof *data);
        for (size_t i = LONGS; i-- > 0;) /* what was put last first: a signal that came early meets old data */
            wrong += seen[i] != (t << 32 | (uint64_t)before);
        tshmem_signal_set(reply, t, before); /* it may put again */
        tshmem_signal_wait_until(reply, TSHMEM_CMP_GE, t);
    }
    CHECK(wrong == 0, "%d words came after their signal", wrong);
    for (int pe = 0; pe < pes; pe++)
        tshmem_signal_add(signal + 1, 3, pe);
    CHECK(tshmem_signal_wait_until(signal + 1, TSHMEM_CMP_GE, 3 * (uint64_t)pes) == 3 * (uint64_t)pes, "added signals");
    CHECK(tshmem_signal_fetch(signal + 1) == 3 * (uint64_t)pes, "signal_fetch");
    tshmem_free(data);
    tshmem_free(signal);
    tshmem_free(reply);
    if (!plain)
        free((void *)(uintptr_t)seen);
}

/* More words than a look takes at once, of which the last ones come last. */
static void many(void)
{
    enum { MANY = 3000 };
    const int next = (tshmem_my_pe() + 1) % tshmem_n_pes();
    static uint64_t numbers[MANY];
    uint64_t *at = tshmem_calloc(MANY, sizeof *at);
    for (uint64_t i = 0; i < MANY; i++)
        numbers[i] = i + 1;
    tshmem_put(at, numbers, MANY / 2, next);
    tshmem_put_nbi(at + MANY / 2, numbers + MANY / 2, MANY - MANY / 2, next);
    tshmem_uint64_wait_until_all_vector(at, MANY, NULL, TSHMEM_CMP_EQ, numbers);
    CHECK(shmem_holds(at, numbers, sizeof numbers), "many words");
    CHECK(tshmem_uint64_test_all(at, MANY, NULL, TSHMEM_CMP_NE, 0) == 1, "a test of many");
    tshmem_free(at);
}

static void errors(void)
{
    shmem_hush_begin();
    tshmem_int_wait_until((int *)(void *)words, 17, 0);
    CHECK(tshmem_error() < 0, "no comparison");
    tshmem_int_wait_until((int *)(void *)(words + 1), TSHMEM_CMP_EQ, 0);
    CHECK(tshmem_error() < 0, "not aligned");
    shmem_hush_end();
}

void shmem_test(void)
{
    words = tshmem_calloc(WORDS, 8);
    if (!CHECK(words != NULL, "memory"))
        return;
    for (uint64_t round = 0; round < ROUNDS; round++) {
#define CALL(name, type, kind, which) which##_##name(round);
        TSHMEM_WAIT(CALL, tests)
    }
    tshmem_barrier_all();
    for (uint64_t round = 0; round < 6; round++) {
        TSHMEM_WAIT(CALL, waits)
    }
    signals();
    many();
    errors();
    tshmem_free(words);
}
