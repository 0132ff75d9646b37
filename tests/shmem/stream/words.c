/* Waits for any, some and all of several words and tests of them in the order of a stream, for words of every type,
 * with one value and with one each: what they find, and that what the stream does afterwards was put before.
 * TUTTI_TEST_EVERY: every so-manieth type. */
#include "shmem/kit.h"

enum { WORDS = 7, MASKED = 4, ROUNDS = 3 };

/* Memory of the GPU: what the calls read and write. */
struct given {
    size_t index[4], found[4], indices[4][WORDS];
    int holds[6], status[WORDS], all_masked[WORDS];
    uint64_t data, values[WORDS];
};
static struct given *given, seen;
static void *stream;
static char *words; /* symmetric */
static uint64_t *data;

static void begin(const void *values, size_t bytes)
{
    struct given at_first;
    memset(&at_first, 0x5a, sizeof at_first);
    memset(at_first.status, 0, sizeof at_first.status);
    at_first.status[MASKED] = 1;
    for (int i = 0; i < WORDS; i++)
        at_first.all_masked[i] = 1;
    memcpy(at_first.values, values, bytes);
    CHECK(tutti_copy(given, &at_first, sizeof at_first) == 0, "copy");
}

static void end(const char *name, int status)
{
    CHECK(status == 0 && tutti_stream_sync(stream) == 0 && tshmem_error() == 0, "%s: status %d", name, status);
    CHECK(tutti_copy(&seen, given, sizeof seen) == 0, "copy");
}

/* Nothing changes meanwhile: odd words are 1, the others 0. */
#define TESTS(name, type, kind, what)                                                                                  \
    static void tests_##name(void)                                                                                     \
    {                                                                                                                  \
        type *const at = (type *)(void *)words;                                                                        \
        type now[WORDS], values[WORDS];                                                                                \
        int status = 0;                                                                                                \
        for (int i = 0; i < WORDS; i++) {                                                                              \
            now[i] = (type)(i % 2);                                                                                    \
            values[i] = (type)(i % 2 + (i >= 5)); /* as they are, but the last two */                                  \
        }                                                                                                              \
        shmem_store(words, now, sizeof now);                                                                           \
        begin(values, sizeof values);                                                                                  \
        const type *const each = (const type *)(const void *)given->values;                                            \
        status |= tshmem_##name##_test_on_stream(&given->holds[0], at + 1, TSHMEM_CMP_EQ, 1, stream);                  \
        status |= tshmem_##name##_test_on_stream(&given->holds[1], at + 1, TSHMEM_CMP_GT, 1, stream);                  \
        status |=                                                                                                      \
            tshmem_##name##_test_all_on_stream(&given->holds[2], at, WORDS, given->status, TSHMEM_CMP_LE, 1, stream);  \
        status |=                                                                                                      \
            tshmem_##name##_test_all_vector_on_stream(&given->holds[3], at, WORDS, NULL, TSHMEM_CMP_EQ, each, stream); \
        status |=                                                                                                      \
            tshmem_##name##_test_all_vector_on_stream(&given->holds[4], at, 5, NULL, TSHMEM_CMP_EQ, each, stream);     \
        status |= tshmem_##name##_test_all_on_stream(&given->holds[5], at, 0, NULL, TSHMEM_CMP_NE, 0, stream);         \
        status |=                                                                                                      \
            tshmem_##name##_test_any_on_stream(&given->index[0], at + 1, WORDS - 1, NULL, TSHMEM_CMP_NE, 1, stream);   \
        status |= tshmem_##name##_test_any_on_stream(&given->index[1], at, WORDS, NULL, TSHMEM_CMP_GT, 1, stream);     \
        status |=                                                                                                      \
            tshmem_##name##_test_any_vector_on_stream(&given->index[2], at, WORDS, NULL, TSHMEM_CMP_NE, each, stream); \
        status |= tshmem_##name##_wait_until_any_on_stream(&given->index[3], at, WORDS, given->all_masked,             \
                                                           TSHMEM_CMP_EQ, 5, stream);                                  \
        status |= tshmem_##name##_test_some_on_stream(&given->found[0], at, WORDS, given->indices[0], given->status,   \
                                                      TSHMEM_CMP_EQ, 0, stream);                                       \
        status |= tshmem_##name##_test_some_vector_on_stream(&given->found[1], at, WORDS, given->indices[1], NULL,     \
                                                             TSHMEM_CMP_NE, each, stream);                             \
        status |=                                                                                                      \
            tshmem_##name##_wait_until_some_on_stream(&given->found[2], at, 0, NULL, NULL, TSHMEM_CMP_EQ, 1, stream);  \
        status |= tshmem_##name##_test_some_on_stream(&given->found[3], at, WORDS, given->indices[3], NULL,            \
                                                      TSHMEM_CMP_LT, 0, stream);                                       \
        end(#name, status);                                                                                            \
    }
TSHMEM_WAIT(TESTS, )

static void tests_end(const char *name)
{
    static const int holds[] = {1, 0, 1, 0, 1, 1};
    for (int i = 0; i < 6; i++)
        CHECK(seen.holds[i] == holds[i], "%s: test %d: %d", name, i, seen.holds[i]);
    CHECK(seen.index[0] == 1 && seen.index[1] == SIZE_MAX && seen.index[2] == 5, "%s: any: %zu, %zu, %zu", name,
          seen.index[0], seen.index[1], seen.index[2]);
    CHECK(seen.index[3] == SIZE_MAX, "%s: a wait for nothing: %zu", name, seen.index[3]);
    CHECK(seen.found[0] == 3 && seen.indices[0][0] == 0 && seen.indices[0][1] == 2 && seen.indices[0][2] == 6,
          "%s: some, but the one that is left out: %zu", name, seen.found[0]);
    CHECK(seen.found[1] == 2 && seen.indices[1][0] == 5 && seen.indices[1][1] == 6, "%s: some with values: %zu", name,
          seen.found[1]);
    CHECK(seen.found[2] == 0 && seen.found[3] == 0, "%s: none: %zu, %zu", name, seen.found[2], seen.found[3]);
}

/* The PE before puts data, then word after word: 3, 4 ..., or negative ones. The stream waits meanwhile. */
#define WAITS(name, type, kind, what)                                                                                  \
    static void waits_##name(uint64_t round, int next)                                                                 \
    {                                                                                                                  \
        type *const at = (type *)(void *)words;                                                                        \
        const int negative = (type)-1 < (type)1 && round % 2;                                                          \
        const size_t turn = shmem_draw(round, 7, (uint64_t)next) % WORDS;                                              \
        const uint64_t told = 1000 + round;                                                                            \
        type values[WORDS];                                                                                            \
        int status = 0;                                                                                                \
        for (int i = 0; i < WORDS; i++)                                                                                \
            values[i] = (type)(negative ? -3 - i : 3 + i);                                                             \
        begin(values, sizeof values);                                                                                  \
        const type *const each = (const type *)(const void *)given->values;                                            \
        tshmem_barrier_all();                                                                                          \
        if (round % 3 == 0)                                                                                            \
            status |= tshmem_##name##_wait_until_any_on_stream(&given->index[0], at, WORDS, given->status,             \
                                                               TSHMEM_CMP_NE, 0, stream);                              \
        else if (round % 3 == 1)                                                                                       \
            status |= tshmem_##name##_wait_until_any_vector_on_stream(&given->index[0], at, WORDS, given->status,      \
                                                                      TSHMEM_CMP_EQ, each, stream);                    \
        else                                                                                                           \
            status |= tshmem_##name##_wait_until_some_on_stream(&given->found[0], at, WORDS, given->indices[0],        \
                                                                given->status, TSHMEM_CMP_NE, 0, stream);              \
        status |= tshmem_uint64_g_on_stream(&given->data, data, tshmem_my_pe(), stream);                               \
        status |= tshmem_##name##_wait_until_some_vector_on_stream(&given->found[1], at, WORDS, given->indices[1],     \
                                                                   NULL, TSHMEM_CMP_EQ, each, stream);                 \
        status |= tshmem_##name##_wait_until_all_vector_on_stream(at, WORDS, NULL, TSHMEM_CMP_EQ, each, stream);       \
        status |=                                                                                                      \
            tshmem_##name##_test_all_vector_on_stream(&given->holds[0], at, WORDS, NULL, TSHMEM_CMP_EQ, each, stream); \
        tshmem_putmem(data, &told, sizeof told, next);                                                                 \
        tshmem_quiet();                                                                                                \
        for (size_t i = 0; i < WORDS; i++)                                                                             \
            tshmem_##name##_p(at + (turn + i) % WORDS, values[(turn + i) % WORDS], next);                              \
        tshmem_quiet();                                                                                                \
        end(#name, status);                                                                                            \
        CHECK(seen.data == told, "%s, round %llu: %llu", #name, (unsigned long long)round,                             \
              (unsigned long long)seen.data);                                                                          \
    }
TSHMEM_WAIT(WAITS, )

static void waits_end(const char *name, uint64_t round)
{
    if (round % 3 < 2)
        CHECK(seen.index[0] < WORDS && seen.index[0] != MASKED, "%s: any: %zu", name, seen.index[0]);
    for (size_t some = round % 3 < 2; some < 2; some++) {
        const size_t found = seen.found[some];
        if (!CHECK(found > 0 && found <= WORDS, "%s: some: %zu", name, found))
            continue;
        for (size_t i = 0; i < found; i++) {
            const size_t least = i == 0 ? 0 : seen.indices[some][i - 1] + 1, is = seen.indices[some][i];
            CHECK(is >= least && is < WORDS && (some == 1 || is != MASKED), "%s: some: number %zu is %zu", name, i, is);
        }
        CHECK(found == WORDS || seen.indices[some][found] == 0x5a5a5a5a5a5a5a5a, "%s: stored beyond", name);
    }
    CHECK(seen.holds[0] == 1, "%s: all", name);
}

static void errors(void)
{
    int *const at = (int *)(void *)words;
    size_t here = 3, there[WORDS] = {0};
    int one = 1;
    shmem_hush_begin();
    CHECK(tshmem_int_test_on_stream(&one, at, TSHMEM_CMP_EQ, 1, stream) < 0 && tshmem_error() < 0, "a host's int");
    CHECK(tshmem_int_test_on_stream((int *)(void *)((char *)given + 2), at, TSHMEM_CMP_EQ, 1, stream) < 0 &&
              tshmem_error() < 0,
          "an answer that is not aligned");
    CHECK(tshmem_int_test_on_stream(NULL, at, TSHMEM_CMP_EQ, 1, stream) < 0 && tshmem_error() < 0, "no answer");
    CHECK(tshmem_int_wait_until_any_on_stream(&here, at, WORDS, NULL, TSHMEM_CMP_EQ, 1, stream) < 0 &&
              tshmem_error() < 0 && here == 3,
          "a host's index");
    CHECK(tshmem_int_wait_until_some_on_stream(&given->found[0], at, WORDS, there, NULL, TSHMEM_CMP_EQ, 1, stream) <
                  0 &&
              tshmem_error() < 0,
          "a host's indices");
    CHECK(tshmem_int_test_some_on_stream(&given->found[0], at, WORDS, NULL, NULL, TSHMEM_CMP_EQ, 1, stream) < 0 &&
              tshmem_error() < 0,
          "no indices");
    CHECK(tshmem_int_wait_until_all_vector_on_stream(at, 1, NULL, TSHMEM_CMP_EQ, &one, stream) < 0 &&
              tshmem_error() < 0,
          "a host's values");
    CHECK(tshmem_int_test_all_on_stream(&given->holds[0], at, SIZE_MAX / 2, NULL, TSHMEM_CMP_EQ, 1, stream) < 0 &&
              tshmem_error() < 0,
          "more than the heap has");
    CHECK(tshmem_int_test_on_stream(&given->holds[0], at, 6, 1, stream) < 0 && tshmem_error() < 0, "no comparison");
    shmem_hush_end();
    CHECK(tutti_stream_sync(stream) == 0 && tshmem_error() == 0, "and all goes on");
}

void shmem_test(void)
{
    const int next = (tshmem_my_pe() + 1) % tshmem_n_pes();
    const long every = check_setting("TUTTI_TEST_EVERY", 1);
    words = tshmem_calloc(WORDS, sizeof(uint64_t));
    data = tshmem_calloc(1, sizeof *data);
    if (!CHECK(words && data && tutti_alloc(sizeof *given, (void **)&given) == 0, "memory") ||
        !CHECK(tutti_stream_create(&stream) == 0, "a stream"))
        return;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        long type = (long)round;
#define CALL(name, kind_, kind, what)                                                                                  \
    if (type++ % every == 0) {                                                                                         \
        tests_##name();                                                                                                \
        tests_end(#name);                                                                                              \
        shmem_set(words, 0, WORDS * sizeof(uint64_t));                                                                 \
        SET(data, 0);                                                                                                  \
        waits_##name(round, next);                                                                                     \
        waits_end(#name, round);                                                                                       \
        tshmem_barrier_all();                                                                                          \
    }
        TSHMEM_WAIT(CALL, )
    }
    errors();
    tutti_stream_destroy(stream);
    tutti_free(given);
    tshmem_free(words);
    tshmem_free(data);
}
