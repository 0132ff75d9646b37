/* Every atomic x every type, one after another against plain arithmetic, then all PEs at once. */
#include "shmem/kit.h"

static char *words; /* symmetric */

/* Random values that any of the types holds, and what the word is afterwards. */
#define START(type)                                                                                                    \
    type *const at = (type *)(void *)(words + 16), now = (type)(shmem_draw(round, 1, me) % 100000);                    \
    const type value = (type)(shmem_draw(round, 2, me) % 1000);                                                        \
    type fetched = 0, is = now;                                                                                        \
    tshmem_barrier_all();                                                                                              \
    tshmem_putmem(at, &now, sizeof now, next);
#define SEEN(name, call, after)                                                                                        \
    tshmem_getmem(&is, at, sizeof is, next);                                                                           \
    CHECK(is == (type_)(after), "%s_%s: the word is not what it should be", #name, call);                              \
    tshmem_putmem(at, &now, sizeof now, next);

#define ORDINARY(name, type, kind, what)                                                                               \
    static void ordinary_##name(int next, uint64_t me, uint64_t round)                                                 \
    {                                                                                                                  \
        typedef type type_;                                                                                            \
        START(type)                                                                                                    \
        CHECK(tshmem_##name##_atomic_fetch(at, next) == now, "%s fetch", #name);                                       \
        tshmem_##name##_atomic_fetch_nbi(&fetched, at, next);                                                          \
        tshmem_quiet();                                                                                                \
        CHECK(fetched == now, "%s fetch_nbi", #name);                                                                  \
        tshmem_##name##_atomic_set(at, value, next);                                                                   \
        SEEN(name, "set", value)                                                                                       \
        CHECK(tshmem_##name##_atomic_swap(at, value, next) == now, "%s swap", #name);                                  \
        SEEN(name, "swap", value)                                                                                      \
        tshmem_##name##_atomic_swap_nbi(&fetched, at, value, next);                                                    \
        CHECK(fetched == now, "%s swap_nbi", #name);                                                                   \
        SEEN(name, "swap_nbi", value)                                                                                  \
        CHECK(tshmem_##name##_atomic_fetch_add(at, value, next) == now, "%s fetch_add", #name);                        \
        SEEN(name, "fetch_add", now + value)                                                                           \
        fetched = 0;                                                                                                   \
        tshmem_##name##_atomic_fetch_add_nbi(&fetched, at, value, next);                                               \
        CHECK(fetched == now, "%s fetch_add_nbi", #name);                                                              \
        SEEN(name, "fetch_add_nbi", now + value)                                                                       \
        tshmem_##name##_atomic_add(at, value, next);                                                                   \
        SEEN(name, "add", now + value)                                                                                 \
        tshmem_barrier_all();                                                                                          \
    }
TSHMEM_AMO(ORDINARY, )
TSHMEM_AMO_FLOATING(ORDINARY, )

#define INTEGERS(name, type, kind, what)                                                                               \
    static void integers_##name(int next, uint64_t me, uint64_t round)                                                 \
    {                                                                                                                  \
        typedef type type_;                                                                                            \
        START(type)                                                                                                    \
        CHECK(tshmem_##name##_atomic_compare_swap(at, now, value, next) == now, "%s compare_swap", #name);             \
        SEEN(name, "compare_swap", value)                                                                              \
        CHECK(tshmem_##name##_atomic_compare_swap(at, (type)(now + 1), value, next) == now, "%s no swap", #name);      \
        SEEN(name, "compare_swap of another", now)                                                                     \
        tshmem_##name##_atomic_compare_swap_nbi(&fetched, at, now, value, next);                                       \
        CHECK(fetched == now, "%s compare_swap_nbi", #name);                                                           \
        SEEN(name, "compare_swap_nbi", value)                                                                          \
        CHECK(tshmem_##name##_atomic_fetch_inc(at, next) == now, "%s fetch_inc", #name);                               \
        SEEN(name, "fetch_inc", now + 1)                                                                               \
        fetched = 0;                                                                                                   \
        tshmem_##name##_atomic_fetch_inc_nbi(&fetched, at, next);                                                      \
        CHECK(fetched == now, "%s fetch_inc_nbi", #name);                                                              \
        SEEN(name, "fetch_inc_nbi", now + 1)                                                                           \
        tshmem_##name##_atomic_inc(at, next);                                                                          \
        SEEN(name, "inc", now + 1)                                                                                     \
        is = (type)-1; /* down past zero, and back */                                                                  \
        tshmem_putmem(at, &is, sizeof is, next);                                                                       \
        CHECK(tshmem_##name##_atomic_fetch_inc(at, next) == (type)-1, "%s fetch_inc of -1", #name);                    \
        SEEN(name, "wrap", 0)                                                                                          \
        tshmem_barrier_all();                                                                                          \
    }
TSHMEM_AMO(INTEGERS, )

#define BITS_ONE(name, type, op, operator_)                                                                            \
    CHECK(tshmem_##name##_atomic_fetch_##op(at, value, next) == now, "%s fetch_%s", #name, #op);                       \
    SEEN(name, "fetch_" #op, now operator_ value)                                                                      \
    fetched = 0;                                                                                                       \
    tshmem_##name##_atomic_fetch_##op##_nbi(&fetched, at, value, next);                                                \
    CHECK(fetched == now, "%s fetch_%s_nbi", #name, #op);                                                              \
    SEEN(name, "fetch_" #op "_nbi", now operator_ value)                                                               \
    tshmem_##name##_atomic_##op(at, value, next);                                                                      \
    SEEN(name, #op, now operator_ value)
#define BITS(name, type, kind, what)                                                                                   \
    static void bits_##name(int next, uint64_t me, uint64_t round)                                                     \
    {                                                                                                                  \
        typedef type type_;                                                                                            \
        START(type)                                                                                                    \
        BITS_ONE(name, type, and, &)                                                                                   \
        BITS_ONE(name, type, or, |)                                                                                    \
        BITS_ONE(name, type, xor, ^)                                                                                   \
        tshmem_barrier_all();                                                                                          \
    }
TSHMEM_BITWISE(BITS, )

/* All PEs on words of PE 0: nothing is lost, and no value is fetched twice. */
static void together(void)
{
    enum { ROUNDS = 3000 };
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    struct counters {
        int64_t inc;
        uint32_t add;
        float sum;
        double sum2;
        uint64_t bits;
        uint64_t lock;
        int64_t guarded;
        uint32_t taken[5 * ROUNDS];
    } *all = tshmem_calloc(1, sizeof *all);
    const long drawn = check_many("TUTTI_TEST_UPDATES", ROUNDS);
    const int most = drawn < ROUNDS ? (int)drawn : ROUNDS;
    const int rounds = (shmem_is_plain(all) ? most : most / 10) / 2 * 2; /* a kernel each; an even number */
    int twice = 0;
    for (int i = 0; i < rounds; i++) {
        const int64_t mine = tshmem_int64_atomic_fetch_inc(&all->inc, 0);
        twice += tshmem_uint32_atomic_swap(&all->taken[mine], 1, 0) != 0;
        tshmem_uint_atomic_add(&all->add, 3, 0);
        tshmem_atomic_add(&all->sum, 1.0f, 0);
        tshmem_double_atomic_add(&all->sum2, 0.5, 0);
        tshmem_atomic_xor(&all->bits, UINT64_C(1) << me, 0);
        if (i % 100 == 0) { /* a lock by compare and swap */
            while (tshmem_uint64_atomic_compare_swap(&all->lock, 0, (uint64_t)me + 1, 0) != 0)
                ;
            const int64_t was = tshmem_int64_g(&all->guarded, 0);
            tshmem_int64_p(&all->guarded, was + 1, 0);
            tshmem_quiet();
            CHECK(tshmem_uint64_atomic_swap(&all->lock, 0, 0) == (uint64_t)me + 1, "the lock was this PE's");
        }
    }
    CHECK(twice == 0, "%d values were fetched twice", twice);
    tshmem_barrier_all();
    CHECK(tshmem_g(&all->inc, 0) == (int64_t)pes * rounds, "increments");
    CHECK(tshmem_g(&all->add, 0) == (uint32_t)(pes * rounds * 3), "additions");
    CHECK(tshmem_g(&all->sum, 0) == (float)(pes * rounds), "additions of float");
    CHECK(tshmem_g(&all->sum2, 0) == 0.5 * pes * rounds, "additions of double");
    CHECK(tshmem_g(&all->bits, 0) == 0, "each bit an even number of times");
    CHECK(tshmem_g(&all->guarded, 0) == (int64_t)pes * ((rounds + 99) / 100), "what the lock guards");
    tshmem_free(all);
}

static void errors(void)
{
    shmem_hush_begin();
    int here = 3;
    CHECK(tshmem_int_atomic_fetch_add(&here, 1, 0) == 0 && tshmem_error() < 0 && here == 3, "not symmetric");
    tshmem_int_atomic_inc((int *)(void *)(words + 2), 0);
    CHECK(tshmem_error() < 0, "not aligned");
    tshmem_int_atomic_inc((int *)(void *)words, -1);
    CHECK(tshmem_error() < 0, "no PE");
    shmem_hush_end();
}

void shmem_test(void)
{
    const int next = (tshmem_my_pe() + 1) % tshmem_n_pes();
    const uint64_t me = (uint64_t)tshmem_my_pe();
    words = tshmem_calloc(1, 64);
    if (!CHECK(words != NULL, "memory"))
        return;
    for (uint64_t round = 0; round < 5; round++) {
#define CALL(name, type, kind, which) which##_##name(next, me, round);
        TSHMEM_AMO(CALL, ordinary)
        TSHMEM_AMO_FLOATING(CALL, ordinary)
        TSHMEM_AMO(CALL, integers)
        TSHMEM_BITWISE(CALL, bits)
    }
    together();
    errors();
    tshmem_free(words);
}
