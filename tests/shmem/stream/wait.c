/* Waits in the order of a stream for words of every type, one and all: what the stream copies afterwards was put before
 * the word. Each word and its data are put by the PE before, at times by its host and at times by a stream.
 * TUTTI_TEST_EVERY: every so-manieth type. */
#define SHMEM_ON_STREAM
#include "shmem/on_stream.h"

enum { WORDS = 5, ROUNDS = 4 };

static char *words; /* symmetric */
static uint64_t *data;
static int *status;   /* memory of the GPU */
static uint64_t *got; /* the same: a copy into the host's may keep the call until the stream has come there */
static void *other;   /* stream */

/* Holds for `value` and not for the 0 that is there before. */
#define TYPE(name, type, kind, what)                                                                                   \
    static void wait_##name(int round, int next, void *stream)                                                         \
    {                                                                                                                  \
        type *const word = (type *)(void *)words;                                                                      \
        const int is_signed = (type)-1 < (type)1;                                                                      \
        const type value = is_signed && round % 2 ? (type)-3 : (type)(3 + round);                                      \
        const int below = is_signed && round % 2;                                                                      \
        uint64_t seen = 0, told = (uint64_t)(1000 + round);                                                            \
        shmem_set(words, 0, WORDS * sizeof(type));                                                                     \
        SET(data, 0);                                                                                                  \
        tshmem_barrier_all();                                                                                          \
        if (round % 4 < 2)                                                                                             \
            CHECK(tshmem_##name##_wait_until_on_stream(word + 1, below ? TSHMEM_CMP_LE : TSHMEM_CMP_GE, value,         \
                                                       stream) == 0,                                                   \
                  "wait");                                                                                             \
        else                                                                                                           \
            CHECK(tshmem_##name##_wait_until_all_on_stream(word, WORDS, status, TSHMEM_CMP_EQ, value, stream) == 0,    \
                  "wait for all");                                                                                     \
        CHECK(tshmem_uint64_g_on_stream(got, data, tshmem_my_pe(), stream) == 0, "g");                                 \
        tshmem_putmem(data, &told, sizeof told, next);                                                                 \
        tshmem_quiet();                                                                                                \
        for (int i = 0; i < WORDS; i++) { /* but word 3, which is left out */                                          \
            if (i == 3)                                                                                                \
                continue;                                                                                              \
            if (round % 2)                                                                                             \
                tshmem_##name##_p(word + i, value, next);                                                              \
            else                                                                                                       \
                CHECK(tshmem_##name##_p_on_stream(word + i, value, next, other) == 0, "p");                            \
        }                                                                                                              \
        tshmem_quiet();                                                                                                \
        CHECK(tutti_stream_sync(stream) == 0 && tutti_stream_sync(other) == 0 &&                                       \
                  tutti_copy(&seen, got, sizeof seen) == 0,                                                            \
              "sync");                                                                                                 \
        CHECK(seen == told, "%s, round %d: %llu", #name, round, (unsigned long long)seen);                             \
        tshmem_barrier_all();                                                                                          \
    }
TSHMEM_WAIT(TYPE, )

static void errors(void)
{
    int *const word = (int *)(void *)words, nobodys[WORDS] = {0};
    shmem_hush_begin();
    CHECK(tshmem_int_wait_until_on_stream(word, 77, 1, on_stream) < 0 && tshmem_error() < 0, "no comparison");
    CHECK(tshmem_int_wait_until_on_stream(nobodys, TSHMEM_CMP_EQ, 1, on_stream) < 0 && tshmem_error() < 0,
          "not symmetric");
    CHECK(tshmem_int_wait_until_on_stream((int *)(void *)(words + 1), TSHMEM_CMP_EQ, 1, on_stream) < 0 &&
              tshmem_error() < 0,
          "not aligned");
    CHECK(tshmem_int_wait_until_all_on_stream(word, WORDS, nobodys, TSHMEM_CMP_EQ, 1, on_stream) < 0 &&
              tshmem_error() < 0,
          "a status array in host memory");
    CHECK(tutti_shmem_wait_on_stream(TSHMEM_WAIT_ALL, TSHMEM_ID_FLOAT, word, 1, NULL, NULL, NULL, TSHMEM_CMP_EQ,
                                     nobodys, on_stream) < 0 &&
              tshmem_error() < 0,
          "no integer");
    shmem_hush_end();
    CHECK(tshmem_int_wait_until_all_on_stream(NULL, 0, NULL, TSHMEM_CMP_EQ, 1, on_stream) == 0, "no words");
    CHECK(tutti_stream_sync(on_stream) == 0 && tshmem_error() == 0, "and all goes on");
}

void shmem_test(void)
{
    const int next = (tshmem_my_pe() + 1) % tshmem_n_pes(), masked[WORDS] = {0, 0, 0, 1, 0};
    const long every = check_setting("TUTTI_TEST_EVERY", 1);
    void *memory = NULL;
    words = tshmem_calloc(WORDS, sizeof(uint64_t));
    data = tshmem_calloc(1, sizeof *data);
    if (!CHECK(words && data && tutti_alloc(sizeof masked, &memory) == 0, "memory") ||
        !CHECK(tutti_alloc(sizeof *got, (void **)&got) == 0, "memory") ||
        !CHECK(order_begin() && tutti_stream_create(&other) == 0, "streams"))
        return;
    status = memory;
    CHECK(tutti_copy(status, masked, sizeof masked) == 0, "copy");
    for (int round = 0; round < ROUNDS; round++) {
        long type = round;
#define RUN(name, type_, kind, what)                                                                                   \
    if (type++ % every == 0)                                                                                           \
        wait_##name(round, next, on_stream);
        TSHMEM_WAIT(RUN, )
    }
    errors();
    tutti_stream_destroy(other);
    order_end();
    tutti_free(got);
    tutti_free(memory);
    tshmem_free(words);
    tshmem_free(data);
}
