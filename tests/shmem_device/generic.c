/* The calls without a type in their names, in C (by _Generic) and C++ (by overloading), for threads and groups, and
 * which type they take: one PE, whose heap is here. Compiled by both compilers. */
#define TSHMEM_KERNELS
#define TSHMEM_STATE() (&one_pe)
#include "tutti/shmem_state.h"

static struct tshmem_state one_pe;

#include "tutti/device.h"

#include <stdio.h>
#include <string.h>

static struct {
    struct tshmem_area area;
    union {
        uint64_t signal[8];
        long numbers[64];
        float floats[64];
        short shorts[64];
    } a, b;
} heap __attribute__((aligned(256)));

static int failed;
static uint32_t abort_word;

#define EXPECT(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                                          \
            failed++;                                                                                                  \
        }                                                                                                              \
    } while (0)

static void reset(void)
{
    memset(&heap.a, 0, sizeof heap.a);
    memset(&heap.b, 0, sizeof heap.b);
}

/* Every generic name of an ending, once or twice, with types whose sizes differ. */
#define ALL_OF(ending)                                                                                                 \
    static void all_of##ending(void)                                                                                   \
    {                                                                                                                  \
        long *const x = heap.a.numbers, *const y = heap.b.numbers;                                                     \
        float *const f = heap.a.floats, *const g = heap.b.floats;                                                      \
        short *const s = heap.b.shorts;                                                                                \
        size_t some[4];                                                                                                \
        reset();                                                                                                       \
        for (int i = 0; i < 8; i++)                                                                                    \
            x[i] = i + 1;                                                                                              \
        tshmem_put##ending(y, x, 2, 0);                                                                                \
        EXPECT(y[1] == 2 && y[2] == 0);                                                                                \
        tshmem_put_nbi##ending(y, x, 3, 0);                                                                            \
        EXPECT(y[2] == 3 && y[3] == 0);                                                                                \
        tshmem_get##ending(y + 4, x, 2, 0);                                                                            \
        tshmem_get_nbi##ending(y + 6, x, 1, 0);                                                                        \
        EXPECT(y[5] == 2 && y[6] == 1 && y[7] == 0);                                                                   \
        tshmem_iput##ending(y, x, 1, 2, 4, 0);                                                                         \
        EXPECT(y[3] == 7);                                                                                             \
        tshmem_iget##ending(y, x, 2, 1, 4, 0);                                                                         \
        EXPECT(y[6] == 4);                                                                                             \
        tshmem_ibput##ending(y, x, 2, 4, 2, 2, 0);                                                                     \
        EXPECT(y[3] == 6);                                                                                             \
        tshmem_ibget##ending(y, x, 4, 2, 2, 2, 0);                                                                     \
        EXPECT(y[5] == 4);                                                                                             \
        tshmem_put_signal##ending(y, x, 1, &heap.b.signal[7], 5, TSHMEM_SIGNAL_SET, 0);                                \
        tshmem_put_signal_nbi##ending(y, x, 1, &heap.b.signal[7], 5, TSHMEM_SIGNAL_ADD, 0);                            \
        EXPECT(y[7] == 10);                                                                                            \
        tshmem_wait_until##ending(x, TSHMEM_CMP_EQ, 1L);                                                               \
        tshmem_wait_until_all##ending(x, 4, NULL, TSHMEM_CMP_GT, 0L);                                                  \
        EXPECT(tshmem_wait_until_any##ending(x, 4, NULL, TSHMEM_CMP_EQ, 3L) == 2);                                     \
        EXPECT(tshmem_wait_until_some##ending(x, 4, some, NULL, TSHMEM_CMP_LE, 2L) == 2 && some[1] == 1);              \
        tshmem_wait_until_all_vector##ending(x, 4, NULL, TSHMEM_CMP_EQ, x);                                            \
        EXPECT(tshmem_wait_until_any_vector##ending(x, 4, NULL, TSHMEM_CMP_GE, x) == 0);                               \
        EXPECT(tshmem_wait_until_some_vector##ending(x, 4, some, NULL, TSHMEM_CMP_EQ, x) == 4);                        \
        EXPECT(!tshmem_test##ending(x, TSHMEM_CMP_NE, 1L));                                                            \
        EXPECT(!tshmem_test_all##ending(x, 4, NULL, TSHMEM_CMP_LT, 4L));                                               \
        EXPECT(tshmem_test_any##ending(x, 4, NULL, TSHMEM_CMP_GT, 9L) == SIZE_MAX);                                    \
        EXPECT(tshmem_test_some##ending(x, 4, some, NULL, TSHMEM_CMP_GE, 4L) == 1 && some[0] == 3);                    \
        EXPECT(tshmem_test_all_vector##ending(x, 4, NULL, TSHMEM_CMP_EQ, x));                                          \
        EXPECT(tshmem_test_any_vector##ending(x, 4, NULL, TSHMEM_CMP_EQ, x) == 0);                                     \
        EXPECT(tshmem_test_some_vector##ending(x, 4, some, NULL, TSHMEM_CMP_NE, x) == 0);                              \
        reset();                                                                                                       \
        f[0] = 2.5f;                                                                                                   \
        f[1] = -1;                                                                                                     \
        EXPECT(tshmem_broadcast##ending(0, g, f, 1, 0) == 0 && g[0] == 2.5f && g[1] == 0);                             \
        EXPECT(tshmem_collect##ending(0, g, f, 2) == 0 && g[1] == -1);                                                 \
        reset();                                                                                                       \
        f[0] = 2.5f;                                                                                                   \
        EXPECT(tshmem_fcollect##ending(0, g, f, 1) == 0 && g[0] == 2.5f);                                              \
        EXPECT(tshmem_alltoall##ending(0, g + 1, f, 1) == 0 && g[1] == 2.5f);                                          \
        EXPECT(tshmem_alltoalls##ending(0, g + 2, f, 2, 2, 1) == 0 && g[2] == 2.5f);                                   \
        EXPECT(tshmem_max_reduce##ending(0, g + 3, f, 1) == 0 && g[3] == 2.5f);                                        \
        EXPECT(tshmem_min_reduce##ending(0, g + 4, f, 1) == 0 && g[4] == 2.5f);                                        \
        EXPECT(tshmem_sum_reduce##ending(0, g + 5, f, 1) == 0 && g[5] == 2.5f);                                        \
        EXPECT(tshmem_prod_reduce##ending(0, g + 6, f, 1) == 0 && g[6] == 2.5f);                                       \
        EXPECT(tshmem_max_reducescatter##ending(0, g + 7, f, 1) == 0 && g[7] == 2.5f);                                 \
        EXPECT(tshmem_min_reducescatter##ending(0, g + 8, f, 1) == 0 && g[8] == 2.5f);                                 \
        EXPECT(tshmem_sum_reducescatter##ending(0, g + 9, f, 1) == 0 && g[9] == 2.5f);                                 \
        EXPECT(tshmem_prod_reducescatter##ending(0, g + 10, f, 1) == 0 && g[10] == 2.5f);                              \
        EXPECT(tshmem_sum_inscan##ending(0, g + 11, f, 1) == 0 && g[11] == 2.5f);                                      \
        EXPECT(tshmem_sum_exscan##ending(0, g + 11, f, 1) == 0 && g[11] == 0);                                         \
        reset();                                                                                                       \
        s[0] = 6;                                                                                                      \
        unsigned short *const u = (unsigned short *)s;                                                                 \
        EXPECT(tshmem_and_reduce##ending(0, u + 1, u, 1) == 0 && u[1] == 6);                                           \
        EXPECT(tshmem_or_reduce##ending(0, u + 2, u, 1) == 0 && u[2] == 6);                                            \
        EXPECT(tshmem_xor_reduce##ending(0, u + 3, u, 1) == 0 && u[3] == 6);                                           \
        EXPECT(tshmem_and_reducescatter##ending(0, u + 4, u, 1) == 0 && u[4] == 6);                                    \
        EXPECT(tshmem_or_reducescatter##ending(0, u + 5, u, 1) == 0 && u[5] == 6);                                     \
        EXPECT(tshmem_xor_reducescatter##ending(0, u + 6, u, 1) == 0 && u[6] == 6 && u[7] == 0);                       \
    }
ALL_OF()
ALL_OF(_warp)
ALL_OF(_block)
ALL_OF(_work_group)

/* With a context over a team of which this PE is number 1; PE 0 of it is none that there is. */
static const tshmem_ctx_t ctx = (tshmem_ctx_t)(uintptr_t)(3 << TSHMEM_CONTEXT_BITS | 6);

#define ALL_WITH_CONTEXT(ending)                                                                                       \
    static void all_with_context##ending(void)                                                                         \
    {                                                                                                                  \
        long *const x = heap.a.numbers, *const y = heap.b.numbers;                                                     \
        float *const f = heap.a.floats, *const g = heap.b.floats;                                                      \
        reset();                                                                                                       \
        for (int i = 0; i < 8; i++)                                                                                    \
            x[i] = i + 1;                                                                                              \
        tshmem_put##ending(ctx, y, x, 2, 1);                                                                           \
        EXPECT(y[1] == 2 && y[2] == 0);                                                                                \
        tshmem_put_nbi##ending(ctx, y, x, 3, 1);                                                                       \
        tshmem_ctx_fence##ending(ctx);                                                                                 \
        EXPECT(y[2] == 3 && y[3] == 0);                                                                                \
        tshmem_get##ending(ctx, y + 4, x, 2, 1);                                                                       \
        tshmem_get_nbi##ending(TSHMEM_CTX_DEFAULT, y + 6, x, 1, 0);                                                    \
        tshmem_ctx_quiet##ending(TSHMEM_CTX_DEFAULT);                                                                  \
        EXPECT(y[5] == 2 && y[6] == 1 && y[7] == 0);                                                                   \
        tshmem_iput##ending(ctx, y, x, 1, 2, 4, 1);                                                                    \
        EXPECT(y[3] == 7);                                                                                             \
        tshmem_iget##ending(ctx, y, x, 2, 1, 4, 1);                                                                    \
        EXPECT(y[6] == 4);                                                                                             \
        tshmem_ibput##ending(ctx, y, x, 2, 4, 2, 2, 1);                                                                \
        EXPECT(y[3] == 6);                                                                                             \
        tshmem_ibget##ending(ctx, y, x, 4, 2, 2, 2, 1);                                                                \
        EXPECT(y[5] == 4);                                                                                             \
        tshmem_put_signal##ending(ctx, y, x, 1, &heap.b.signal[7], 5, TSHMEM_SIGNAL_SET, 1);                           \
        tshmem_put_signal_nbi##ending(ctx, y, x, 1, &heap.b.signal[7], 5, TSHMEM_SIGNAL_ADD, 1);                       \
        EXPECT(y[7] == 10);                                                                                            \
        tshmem_ctx_put16##ending(ctx, y, x + 1, 1, 1);                                                                 \
        tshmem_ctx_getmem##ending(ctx, y + 1, x + 5, 8, 1);                                                            \
        EXPECT(y[0] == 2 && y[1] == 6);                                                                                \
        reset();                                                                                                       \
        f[0] = 2.5f;                                                                                                   \
        tshmem_put##ending(ctx, g, f, 1, 1);                                                                           \
        EXPECT(g[0] == 2.5f && g[1] == 0 && abort_word == 0);                                                          \
        tshmem_put##ending(ctx, g + 1, f, 1, 0);                                                                       \
        EXPECT(abort_word != 0 && g[1] == 0);                                                                          \
        abort_word = 0;                                                                                                \
    }
ALL_WITH_CONTEXT()
ALL_WITH_CONTEXT(_warp)
ALL_WITH_CONTEXT(_block)
ALL_WITH_CONTEXT(_work_group)

static void of_threads(void)
{
    long *const x = heap.a.numbers;
    float *const f = heap.b.floats;
    reset();
    tshmem_p(x, 3L, 0);
    EXPECT(tshmem_g(x, 0) == 3);
    tshmem_p(f, 0.5f, 0);
    tshmem_atomic_add(f, 1.0f, 0);
    EXPECT(tshmem_atomic_fetch(f, 0) == 1.5f && f[1] == 0);
    EXPECT(tshmem_atomic_fetch_inc(x, 0) == 3 && tshmem_atomic_compare_swap(x, 4L, 9L, 0) == 4 && x[0] == 9);
    EXPECT(tshmem_type_of(f) == TSHMEM_ID_FLOAT && tshmem_type_of(x) == TSHMEM_INT64);
}

static void of_threads_with_context(void)
{
    long *const x = heap.a.numbers, before = 0;
    uint64_t *const u = heap.b.signal;
    float *const f = heap.a.floats;
    tshmem_team_t team = 9;
    reset();
    EXPECT(tshmem_ctx_get_team(ctx, &team) == 0 && team == 1);
    tshmem_p(ctx, x, 3L, 1);
    EXPECT(tshmem_g(ctx, x, 1) == 3 && tshmem_g(x, 0) == 3);
    tshmem_atomic_set(ctx, x, 5L, 1);
    tshmem_atomic_inc(ctx, x, 1);
    tshmem_atomic_add(ctx, x, 4L, 1);
    EXPECT(tshmem_atomic_fetch(ctx, x, 1) == 10 && tshmem_atomic_fetch_add(ctx, x, 1L, 1) == 10);
    EXPECT(tshmem_atomic_swap(ctx, x, 7L, 1) == 11 && tshmem_atomic_compare_swap(ctx, x, 7L, 9L, 1) == 7);
    tshmem_atomic_fetch_inc_nbi(ctx, &before, x, 1);
    EXPECT(before == 9 && tshmem_atomic_fetch_inc(ctx, x, 1) == 10 && x[0] == 11);
    tshmem_ctx_signal_set(ctx, u, 12, 1);
    tshmem_ctx_signal_add(ctx, u, 3, 1);
    tshmem_ctx_uint64_atomic_or(ctx, u, 16, 1);
    EXPECT(tshmem_ctx_uint64_atomic_fetch_xor(ctx, u, 1, 1) == 31 && u[0] == 30);
    tshmem_ctx_uint64_atomic_and(ctx, u, 3, 1);
    EXPECT(u[0] == 2);
    f[2] = 0.5f;
    tshmem_atomic_add(ctx, f + 2, 1.0f, 1);
    EXPECT(tshmem_atomic_fetch(ctx, f + 2, 1) == 1.5f && abort_word == 0);
    EXPECT(tshmem_atomic_fetch(ctx, f + 2, 0) == 0 && abort_word != 0);
    abort_word = 0;
}

int main(void)
{
    static struct tshmem_team_state teams[TSHMEM_TEAMS_MAX];
    static uint64_t contexts[TSHMEM_CONTEXTS_MAX];
    teams[1].used = 1;
    teams[1].me = 1;
    teams[1].size = 2;
    teams[1].world[0] = 60;
    teams[1].number = 1;
    contexts[5] = (uint64_t)3 << 32 | 1;
    one_pe.team = teams;
    one_pe.context = contexts;
    one_pe.bytes = sizeof one_pe;
    one_pe.version = TSHMEM_STATE_VERSION;
    one_pe.pes = 1;
    one_pe.heap = one_pe.peer[0] = (char *)&heap;
    one_pe.heap_bytes = sizeof heap;
    one_pe.area_bytes = sizeof heap.area;
    one_pe.abort = &abort_word;
    all_of();
    all_of_warp();
    all_of_block();
    all_of_work_group();
    of_threads();
    all_with_context();
    all_with_context_warp();
    all_with_context_block();
    all_with_context_work_group();
    of_threads_with_context();
    EXPECT(abort_word == 0);
    printf("%d failed\n", failed);
    return failed != 0;
}
