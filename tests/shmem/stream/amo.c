/* Every atomic x every type in the order of a stream: a row of them is put in at once, and what each has fetched is
 * looked at when the stream has ended. Then all PEs at once. TUTTI_TEST_EVERY: every so-manieth type. */
#include "shmem/kit.h"

enum { ROUNDS = 3, SLOTS = 16, TICKETS = 60 };

static void *stream;
static char *words;   /* symmetric */
static void *fetched; /* memory of the GPU: what the calls bring, 8 bytes each */

/* Random values that any of the types holds. */
#define START(type)                                                                                                    \
    type *const at = (type *)(void *)(words + 16), now = (type)(shmem_draw(round, 1, me) % 100000);                    \
    const type value = (type)(shmem_draw(round, 2, me) % 1000);                                                        \
    type got[SLOTS] = {0};                                                                                             \
    type *const to = fetched;                                                                                          \
    int status = 0;                                                                                                    \
    tshmem_barrier_all();                                                                                              \
    tshmem_putmem(at, &now, sizeof now, next);                                                                         \
    tshmem_quiet();
/* Slot by slot what should have come. */
#define END(name, type, count, ...)                                                                                    \
    const type expected[] = {__VA_ARGS__};                                                                             \
    CHECK(status == 0 && tutti_stream_sync(stream) == 0, "%s: status %d", #name, status);                              \
    CHECK(tutti_copy(got, fetched, (count) * sizeof *got) == 0, "copy");                                               \
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)                                                    \
        CHECK(got[i] == expected[i], "%s, %s: what call %zu brought", __func__, #name, i);                             \
    CHECK(sizeof expected / sizeof *expected == (count), "all are looked at");                                         \
    tshmem_barrier_all();
/* After one that fetches nothing: the next is done later, also where the ring does them. */
#define THEN              status |= tshmem_fence_on_stream(stream)
#define FETCH(name, slot) status |= tshmem_##name##_atomic_fetch_on_stream(to + (slot), at, next, stream)

#define ORDINARY(name, type, kind, what)                                                                               \
    static void ordinary_##name(int next, uint64_t me, uint64_t round)                                                 \
    {                                                                                                                  \
        START(type)                                                                                                    \
        FETCH(name, 0);                                                                                                \
        status |= tshmem_##name##_atomic_set_on_stream(at, value, next, stream);                                       \
        THEN;                                                                                                          \
        status |= tshmem_##name##_atomic_fetch_nbi_on_stream(to + 1, at, next, stream);                                \
        status |= tshmem_##name##_atomic_swap_on_stream(to + 2, at, now, next, stream);                                \
        status |= tshmem_##name##_atomic_swap_nbi_on_stream(to + 3, at, value, next, stream);                          \
        status |= tshmem_##name##_atomic_fetch_add_on_stream(to + 4, at, now, next, stream);                           \
        status |= tshmem_##name##_atomic_fetch_add_nbi_on_stream(to + 5, at, value, next, stream);                     \
        status |= tshmem_##name##_atomic_add_on_stream(at, value, next, stream);                                       \
        THEN;                                                                                                          \
        FETCH(name, 6);                                                                                                \
        END(name, type, 7, now, value, value, now, value, (type)(value + now), (type)(now + 3 * value))                \
    }
TSHMEM_AMO(ORDINARY, )
TSHMEM_AMO_FLOATING(ORDINARY, )

#define INTEGERS(name, type, kind, what)                                                                               \
    static void integers_##name(int next, uint64_t me, uint64_t round)                                                 \
    {                                                                                                                  \
        START(type)                                                                                                    \
        const type other = (type)(now + 1);                                                                            \
        status |= tshmem_##name##_atomic_compare_swap_on_stream(to, at, other, value, next, stream);                   \
        status |= tshmem_##name##_atomic_compare_swap_on_stream(to + 1, at, now, value, next, stream);                 \
        status |= tshmem_##name##_atomic_compare_swap_nbi_on_stream(to + 2, at, value, other, next, stream);           \
        status |= tshmem_##name##_atomic_fetch_inc_on_stream(to + 3, at, next, stream);                                \
        status |= tshmem_##name##_atomic_fetch_inc_nbi_on_stream(to + 4, at, next, stream);                            \
        status |= tshmem_##name##_atomic_inc_on_stream(at, next, stream);                                              \
        THEN;                                                                                                          \
        FETCH(name, 5);                                                                                                \
        status |= tshmem_##name##_atomic_set_on_stream(at, (type)-1, next, stream); /* down past zero, and back */     \
        THEN;                                                                                                          \
        status |= tshmem_##name##_atomic_fetch_inc_on_stream(to + 6, at, next, stream);                                \
        FETCH(name, 7);                                                                                                \
        END(name, type, 8, now, now, value, other, (type)(other + 1), (type)(other + 3), (type)-1, 0)                  \
    }
TSHMEM_AMO(INTEGERS, )

#define BITS_ONE(name, slot, op)                                                                                       \
    status |= tshmem_##name##_atomic_set_on_stream(at, now, next, stream);                                             \
    THEN;                                                                                                              \
    status |= tshmem_##name##_atomic_fetch_##op##_on_stream(to + (slot), at, value, next, stream);                     \
    status |= tshmem_##name##_atomic_fetch_##op##_nbi_on_stream(to + (slot) + 1, at, third, next, stream);             \
    status |= tshmem_##name##_atomic_##op##_on_stream(at, now, next, stream);                                          \
    THEN;                                                                                                              \
    FETCH(name, (slot) + 2);
#define BITS_SEEN(type, is) now, (type)(now is value), (type)(((now is value)is third)is now)
#define BITS(name, type, kind, what)                                                                                   \
    static void bits_##name(int next, uint64_t me, uint64_t round)                                                     \
    {                                                                                                                  \
        START(type)                                                                                                    \
        const type third = (type)(0x5555 + (int)me);                                                                   \
        BITS_ONE(name, 0, and)                                                                                         \
        BITS_ONE(name, 3, or)                                                                                          \
        BITS_ONE(name, 6, xor)                                                                                         \
        END(name, type, 9, BITS_SEEN(type, &), BITS_SEEN(type, |), BITS_SEEN(type, ^))                                 \
    }
TSHMEM_BITWISE(BITS, )

/* All PEs on words of PE 0, from their streams and their hosts: nothing is lost, and no value is fetched twice. */
static void together(void)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    struct counters {
        uint64_t next, signals, answer;
        float sum;
        double sum2;
        uint32_t taken[10 * TICKETS];
    } *all = tshmem_calloc(1, sizeof *all);
    uint64_t *tickets = NULL, mine[TICKETS], seen = 0;
    int status = 0;
    if (!CHECK(all && tutti_alloc(sizeof mine, (void **)&tickets) == 0, "memory"))
        return;
    for (size_t i = 0; i < TICKETS; i++) {
        status |= tshmem_uint64_atomic_fetch_inc_on_stream(tickets + i, &all->next, 0, stream);
        status |= tshmem_float_atomic_add_on_stream(&all->sum, 1, 0, stream);
        status |= tshmem_double_atomic_add_on_stream(&all->sum2, 0.5, 0, stream);
        status |= tshmem_signal_add_on_stream(&all->signals, 3, i % 2 ? 0 : me, stream);
        if (i % 10 == 0) {
            const uint64_t ticket = tshmem_uint64_atomic_fetch_inc(&all->next, 0);
            tshmem_uint32_atomic_inc(&all->taken[ticket], 0);
        }
    }
    CHECK(status == 0 && tshmem_quiet_on_stream(stream) == 0 && tutti_stream_sync(stream) == 0, "all are in");
    CHECK(tutti_copy(mine, tickets, sizeof mine) == 0, "copy");
    for (size_t i = 0; i < TICKETS; i++) {
        if (CHECK(mine[i] < (uint64_t)pes * (TICKETS + TICKETS / 10), "ticket %llu", (unsigned long long)mine[i]))
            tshmem_uint32_atomic_inc(&all->taken[mine[i]], 0);
    }
    tshmem_barrier_all();
    for (int i = 0; i < pes * (TICKETS + TICKETS / 10); i++)
        CHECK(tshmem_g(&all->taken[i], 0) == 1, "ticket %d was given %u times", i, tshmem_g(&all->taken[i], 0));
    CHECK(tshmem_g(&all->sum, 0) == (float)(pes * TICKETS), "additions of float");
    CHECK(tshmem_g(&all->sum2, 0) == 0.5 * pes * TICKETS, "additions of double");
    /* The own signal: half of the own additions, and PE 0 the other half of all. */
    CHECK(tshmem_signal_fetch_on_stream(&all->answer, &all->signals, stream) == 0 && tutti_stream_sync(stream) == 0,
          "signal_fetch");
    seen = SEE(&all->answer);
    CHECK(seen == 3 * (uint64_t)(TICKETS / 2) * (uint64_t)(me == 0 ? pes + 1 : 1), "signals: %llu",
          (unsigned long long)seen);
    tshmem_barrier_all();
    CHECK(tshmem_signal_set_on_stream(&all->signals, 77, (me + 1) % pes, stream) == 0, "signal_set");
    CHECK(tshmem_barrier_all_on_stream(stream) == 0, "barrier");
    CHECK(tshmem_signal_fetch_on_stream(&all->answer, &all->signals, stream) == 0 && tutti_stream_sync(stream) == 0,
          "signal_fetch");
    CHECK(SEE(&all->answer) == 77, "the signal is set");
    tutti_free(tickets);
    tshmem_free(all);
}

static void errors(void)
{
    int *const at = (int *)(void *)words, *const got = fetched;
    int here = 3;
    shmem_hush_begin();
    CHECK(tshmem_int_atomic_fetch_add_on_stream(got, &here, 1, 0, stream) < 0 && tshmem_error() < 0 && here == 3,
          "not symmetric");
    CHECK(tshmem_int_atomic_fetch_on_stream(&here, at, 0, stream) < 0 && tshmem_error() < 0 && here == 3,
          "into host memory");
    CHECK(tshmem_int_atomic_swap_on_stream(NULL, at, 1, 0, stream) < 0 && tshmem_error() < 0, "into nothing");
    CHECK(tshmem_int_atomic_inc_on_stream((int *)(void *)(words + 2), 0, stream) < 0 && tshmem_error() < 0,
          "not aligned");
    CHECK(tshmem_int_atomic_fetch_on_stream((int *)(void *)((char *)fetched + 2), at, 0, stream) < 0 &&
              tshmem_error() < 0,
          "into what is not aligned");
    CHECK(tshmem_int_atomic_inc_on_stream(at, -1, stream) < 0 && tshmem_error() < 0, "no PE");
    CHECK(tutti_shmem_amo_on_stream(99, got, at, 4, 0, 0, 0, stream) < 0 && tshmem_error() < 0, "no operation");
    CHECK(tutti_shmem_amo_on_stream(TSHMEM_AMO_ADD, got, at, 2, 0, 0, 0, stream) < 0 && tshmem_error() < 0, "2 bytes");
    CHECK(tshmem_signal_fetch_on_stream((uint64_t *)(void *)words, (uint64_t *)fetched, stream) < 0 &&
              tshmem_error() < 0,
          "no signal");
    CHECK(tshmem_pe_quiet_on_stream(99, stream) < 0 && tshmem_error() < 0, "a PE that is not there");
    shmem_hush_end();
    CHECK(tshmem_pe_quiet_on_stream(0, stream) == 0 && tshmem_fence_on_stream(stream) == 0 &&
              tutti_stream_sync(stream) == 0 && tshmem_error() == 0,
          "and all goes on");
}

void shmem_test(void)
{
    const int next = (tshmem_my_pe() + 1) % tshmem_n_pes();
    const uint64_t me = (uint64_t)tshmem_my_pe();
    const long every = check_setting("TUTTI_TEST_EVERY", 1);
    words = tshmem_calloc(1, 64);
    if (!CHECK(words && tutti_alloc(SLOTS * sizeof(uint64_t), &fetched) == 0, "memory") ||
        !CHECK(tutti_stream_create(&stream) == 0, "a stream"))
        return;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        long type = (long)round;
#define CALL(name, kind_, kind, which)                                                                                 \
    if (type++ % every == 0)                                                                                           \
        which##_##name(next, me, round);
        TSHMEM_AMO(CALL, ordinary)
        TSHMEM_AMO_FLOATING(CALL, ordinary)
        TSHMEM_AMO(CALL, integers)
        TSHMEM_BITWISE(CALL, bits)
    }
    together();
    errors();
    tutti_stream_destroy(stream);
    tutti_free(fetched);
    tshmem_free(words);
}
