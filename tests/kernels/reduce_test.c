/* Every pair of type and operator, every instruction set, against the exact result: counts, alignments, in place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exact.h"
#include "kernels/elements.h"
#include "kernels/reduce.h"
#include "kernels/variants.h"

enum { MOST = 4097, RANKS = 9, GUARD = 64, ROOM = MOST * 16 + 2 * GUARD + 16 };

#ifdef __SANITIZE_THREAD__
static const unsigned rank_counts[] = {1, 5, 9}; /* one thread: nothing to find, and slow */
#else
static const unsigned rank_counts[] = {1, 2, 3, 4, 5, 8, 9};
#endif
static const size_t counts[] = {0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 1000, 4097};
static const unsigned offsets[] = {0, 1, 2, 4, 8};
enum { OFFSETS = sizeof offsets / sizeof *offsets, COUNTS = sizeof counts / sizeof *counts };

static unsigned char *values[RANKS], *wanted, *input[RANKS], *output;

static int setup(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++) {
        values[r] = malloc(MOST * 16);
        input[r] = aligned_alloc(64, (ROOM + 63) / 64 * 64);
    }
    wanted = malloc(MOST * 16);
    output = aligned_alloc(64, (ROOM + 63) / 64 * 64);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++) {
        free(values[r]);
        free(input[r]);
    }
    free(wanted);
    free(output);
    return 0;
}

/* Values between guards, `offset` bytes off. */
static unsigned char *lay(unsigned char *buffer, unsigned offset, const unsigned char *from, size_t bytes)
{
    unsigned char *const at = buffer + GUARD + offset;
    memset(at - GUARD, 0xa5, GUARD);
    if (from)
        memcpy(at, from, bytes);
    else
        memset(at, 0x5a, bytes);
    memset(at + bytes, 0xa5, GUARD);
    return at;
}

static void check(const unsigned char *at, const unsigned char *want, size_t bytes, const char *what)
{
    size_t bad = 0;
    if (memcmp(at, want, bytes) != 0) {
        while (at[bad] == want[bad])
            bad++;
        fail_msg("%s: byte %zu of %zu is %02x, not %02x", what, bad, bytes, at[bad], want[bad]);
    }
    for (int i = 1; i <= GUARD; i++) {
        if (at[-i] != 0xa5 || at[bytes + (size_t)i - 1] != 0xa5)
            fail_msg("%s: a guard byte was written", what);
    }
}

static void run_cell(const struct tutti_c_variant *variant, int type, int op, unsigned ranks, size_t count, int k,
                     int in_place)
{
    const size_t bytes = count * tutti_type_size(type);
    const void *in[RANKS];
    char what[200];
    snprintf(what, sizeof what, "%s %s %s, %u ranks, %zu elements, offset %d, in place %d",
             variant ? variant->name : "chosen", tutti_type_name(type), tutti_op_name(op), ranks, count, k, in_place);
    for (unsigned r = 0; r < ranks; r++)
        in[r] = lay(input[r], offsets[k < OFFSETS ? (unsigned)k : r % OFFSETS], values[r], bytes);
    void *out = in_place ? (void *)(uintptr_t)in[count % ranks] : lay(output, offsets[k % OFFSETS], NULL, bytes);
    if (variant)
        variant->reduce(tutti_kernels_c_pair(variant, type, op), in, ranks, &out, 1, count);
    else
        tutti_reduce_host(type, op, (int)ranks, in, out, count);
    check(out, wanted, bytes, what);
    for (unsigned r = 0; r < ranks; r++) {
        if (in[r] != out)
            check(in[r], values[r], bytes, what);
    }
}

static void every_pair(void **state)
{
    (void)state;
    uint64_t random = exact_seed();
    long cells = 0;
    for (int type = 0; type < TUTTI_TYPES; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (!tutti_has_kernel(type, op))
                continue;
            const size_t size = tutti_type_size(type);
            for (int r = 0; r < RANKS; r++)
                exact_fill(&random, type, values[r], MOST);
            for (size_t q = 0; q < sizeof rank_counts / sizeof *rank_counts; q++) {
                const unsigned ranks = rank_counts[q];
                for (size_t i = 0; i < MOST; i++) {
                    const void *in[RANKS];
                    for (unsigned r = 0; r < ranks; r++)
                        in[r] = values[r] + i * size;
                    exact_reduce(type, op, ranks, in, wanted + i * size);
                }
                const struct tutti_c_variant *variant;
                for (int v = -1; (variant = v < 0 ? NULL : tutti_kernels_c(v)) || v < 0; v++) {
                    for (int c = 0; c < COUNTS; c++) {
                        /* Larger counts take turns over alignments: their inner loops are the same. */
                        const int step = counts[c] > 100 ? 3 : 1;
                        for (int k = counts[c] > 100 ? (int)(exact_random(&random) % 3) : 0; k <= OFFSETS; k += step) {
                            run_cell(variant, type, op, ranks, counts[c], k, 0);
                            run_cell(variant, type, op, ranks, counts[c], k, 1);
                            cells += 2;
                        }
                    }
                }
            }
        }
    }
    printf("%ld cells, chosen instruction set %s\n", cells, tutti_kernel_host_isa());
}

/* Many outputs at once, one of them in place; more ranks than a kernel's table. */
static void many(void **state)
{
    (void)state;
    enum { MANY = 150, N = 700 };
    uint64_t random = exact_seed();
    static unsigned char from[MANY][N * 16], to[3][N * 16], want[N * 16];
    for (int type = 0; type < TUTTI_TYPES; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (!tutti_has_kernel(type, op))
                continue;
            const size_t size = tutti_type_size(type);
            const void *in[MANY];
            for (unsigned r = 0; r < MANY; r++) {
                exact_fill(&random, type, from[r], N);
                in[r] = from[r];
            }
            for (size_t i = 0; i < N; i++) {
                const void *one[MANY];
                for (unsigned r = 0; r < MANY; r++)
                    one[r] = from[r] + i * size;
                exact_reduce(type, op, MANY, one, want + i * size);
            }
            void *out[4] = {to[0], from[7], to[1], to[2]};
            const struct tutti_c_variant *const variant = tutti_kernels_c(0);
            variant->reduce(tutti_kernels_c_pair(variant, type, op), in, MANY, out, 4, N);
            for (int o = 0; o < 4; o++)
                assert_memory_equal(out[o], want, N * size);
        }
    }
}

/* The kernels' own list of pairs is the one that the lists of types and operators give. */
static void pairs_agree(void **state)
{
    (void)state;
    const struct tutti_c_variant *variant;
    int kernels = 0;
    static int expected[TUTTI_TYPES][TUTTI_OPS];
    for (int type = 0; type < TUTTI_TYPES; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (tutti_has_kernel(type, op))
                expected[tutti_kernel_type(type, op)][op] = 1;
        }
    }
    for (int v = 0; (variant = tutti_kernels_c(v)); v++) {
        for (int type = 0; type < TUTTI_TYPES; type++) {
            for (int op = 0; op < TUTTI_OPS; op++) {
                const struct tutti_c_pair *const pair = &variant->pair[type][op];
                assert_int_equal(pair->fold != NULL, expected[type][op]);
                if (pair->fold)
                    assert_int_equal(pair->size, tutti_type_size(type));
                kernels += pair->fold != NULL;
            }
        }
    }
    assert_true(kernels >= 82);
    assert_string_equal(tutti_kernels_c(0)->name, tutti_kernel_host_isa());
}

#if defined(__x86_64__)
/* A program that rounds up and flushes subnormal numbers gets the same results and keeps its mode. */
static void modes(void **state)
{
    (void)state;
    const float a[4] = {0x1p-149f, 0x1p-140f, 1.0f, 0.1f}, b[4] = {0x1p-149f, -0x1p-149f, 0x1p-24f, 0.2f};
    const void *const in[2] = {a, b};
    float plain[4], odd[4];
    tutti_reduce_host(TUTTI_TYPE_F32, TUTTI_OP_SUM, 2, in, plain, 4);
    const unsigned found = __builtin_ia32_stmxcsr(), mode = 0x1f80 | 0x8040 | 0x4000;
    __builtin_ia32_ldmxcsr(mode);
    tutti_reduce_host(TUTTI_TYPE_F32, TUTTI_OP_SUM, 2, in, odd, 4);
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(found);
    assert_int_equal(after & ~0x3fu, mode);
    assert_memory_equal(plain, odd, sizeof plain);
    assert_true(plain[0] == 0x1p-148f && plain[2] == 1.0f);
}
#endif

int main(void)
{
    exact_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_agree),
        cmocka_unit_test_setup_teardown(every_pair, setup, teardown),
        cmocka_unit_test(many),
#if defined(__x86_64__)
        cmocka_unit_test(modes),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
