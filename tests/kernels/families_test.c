/* What the CUDA kernels do to elements, in C: every pair by the family that serves it, to the bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/types.h"
#include "exact.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/fatbin.h"
#include "kernels/half_c.h"

#include "kernels/ops.inc"

#include "kernels/families.inc"

#include "kernels/words.inc"

enum { RANKS = 5, MOST = 2000 };

/* Half precision is accumulated in float. */
#define TAKEN(TYPE)                                                                                                    \
    static tutti_a_##TYPE taken_##TYPE(const void *from)                                                               \
    {                                                                                                                  \
        tutti_a_##TYPE a;                                                                                              \
        memcpy(&a, from, sizeof a);                                                                                    \
        return a;                                                                                                      \
    }                                                                                                                  \
    static void given_##TYPE(void *to, tutti_a_##TYPE a)                                                               \
    {                                                                                                                  \
        memcpy(to, &a, sizeof a);                                                                                      \
    }
#define HALF(TYPE)                                                                                                     \
    static float taken_##TYPE(const void *from)                                                                        \
    {                                                                                                                  \
        float a;                                                                                                       \
        widen_##TYPE(&a, from, 1);                                                                                     \
        return a;                                                                                                      \
    }                                                                                                                  \
    static void given_##TYPE(void *to, float a)                                                                        \
    {                                                                                                                  \
        narrow_##TYPE(to, &a, 1);                                                                                      \
    }
/* clang-format off */
TAKEN(U8) TAKEN(U16) TAKEN(U32) TAKEN(U64)
HALF(F16) HALF(BF16) TAKEN(F32) TAKEN(F64)
TAKEN(C32) TAKEN(C64) TAKEN(F32_I32) TAKEN(F64_I32)
TAKEN(I64_I32) TAKEN(I32_I32) TAKEN(I16_I32) TAKEN(F32_F32)
TAKEN(F64_F64)
/* clang-format on */

#define TOLD_tutti_sense(sense)    sense
#define TOLD_tutti_no_sense(sense) ((void)(sense), (struct tutti_no_sense){0})
#define TOLD(SENSE, sense)         TOLD_(SENSE, sense)
#define TOLD_(SENSE, sense)        TOLD_##SENSE(sense)
#define TUTTI_FAMILY(TYPE, FAMILY)                                                                                     \
    static void reduce_##TYPE##_##FAMILY(const void *const in[], unsigned ranks, struct tutti_sense sense, void *out)  \
    {                                                                                                                  \
        const struct TUTTI_SENSE_##FAMILY told = TOLD(TUTTI_SENSE_##FAMILY, sense);                                    \
        tutti_a_##TYPE a = tutti_enter_##TYPE##_##FAMILY(taken_##TYPE(in[0]), told);                                   \
        for (unsigned r = 1; r < ranks; r++)                                                                           \
            a = tutti_fold_##TYPE##_##FAMILY(a, tutti_enter_##TYPE##_##FAMILY(taken_##TYPE(in[r]), told), told);       \
        given_##TYPE(out, tutti_leave_##TYPE##_##FAMILY(a, told));                                                     \
    }
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_) TUTTI_FAMILIES_##class_(id)
#include "tutti/types.def"
#undef TUTTI_TYPE
#undef TUTTI_FAMILY

        static const struct {
    int type;
    const char *family;
    void (*reduce)(const void *const in[], unsigned ranks, struct tutti_sense sense, void *out);
} families[] = {
#define TUTTI_FAMILY(TYPE, FAMILY)                            {TUTTI_TYPE_##TYPE, #FAMILY, reduce_##TYPE##_##FAMILY},
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_) TUTTI_FAMILIES_##class_(id)
#include "tutti/types.def"
#undef TUTTI_TYPE
#undef TUTTI_FAMILY
};
enum { FAMILIES = sizeof families / sizeof *families };

static int family_of(int type, const char *name)
{
    for (int f = 0; f < FAMILIES; f++) {
        if (families[f].type == type && strcmp(families[f].family, name) == 0)
            return f;
    }
    fail_msg("%s has no family %s", tutti_type_name(type), name);
    return -1;
}

static void every_pair(void **state)
{
    (void)state;
    static unsigned char values[RANKS][MOST * 16];
    uint64_t random = exact_seed();
    int used[FAMILIES] = {0}, pairs = 0;
    for (int type = 0; type < TUTTI_TYPES; type++) {
        const size_t size = tutti_type_size(type);
        for (int op = 0; op < TUTTI_OPS; op++) {
            const struct tutti_served served = tutti_kernel_served(type, op);
            if (!tutti_has_kernel(type, op)) {
                assert_int_equal(served.type, TUTTI_TYPE_NONE);
                continue;
            }
            assert_int_equal(tutti_type_size(served.type), size);
            const int family = family_of(served.type, served.family);
            used[family]++;
            pairs++;
            for (int r = 0; r < RANKS; r++)
                exact_fill(&random, type, values[r], MOST);
            for (size_t i = 0; i < MOST; i++) {
                const unsigned ranks = 2 + (unsigned)(i % (RANKS - 1));
                const void *in[RANKS];
                unsigned char got[16], wanted[16];
                for (unsigned r = 0; r < ranks; r++)
                    in[r] = values[r] + i * size;
                exact_reduce(type, op, ranks, in, wanted);
                families[family].reduce(in, ranks, served.sense, got);
                if (memcmp(got, wanted, size) != 0)
                    fail_msg("%s %s as %s of %s, %u ranks, element %zu is wrong", tutti_type_name(type),
                             tutti_op_name(op), served.family, tutti_type_name(served.type), ranks, i);
            }
        }
    }
    for (int f = 0; f < FAMILIES; f++) {
        if (!used[f])
            fail_msg("nothing uses %s of %s", families[f].family, tutti_type_name(families[f].type));
    }
    printf("%d pairs, %d families\n", pairs, FAMILIES);
}

/* Kernels take bits of any type as words of 32 (kernels.cu), with what the pair is told. */
static void words_of_bits(void **state)
{
    (void)state;
    static unsigned char values[RANKS][MOST * 16];
    const int family = family_of(TUTTI_TYPE_U32, "BITS");
    uint64_t random = exact_seed();
    int pairs = 0;
    for (int type = 0; type < TUTTI_TYPES; type++) {
        const size_t size = tutti_type_size(type), words = MOST * size / 4;
        for (int op = 0; op < TUTTI_OPS; op++) {
            const struct tutti_served served = tutti_kernel_served(type, op);
            const void *in[RANKS];
            unsigned char got[MOST * 16], wanted[MOST * 16];
            if (served.type == TUTTI_TYPE_NONE || strcmp(served.family, "BITS") != 0)
                continue;
            pairs++;
            for (int r = 0; r < RANKS; r++)
                exact_fill(&random, type, values[r], MOST);
            for (size_t i = 0; i < words * 4 / size; i++) {
                for (int r = 0; r < RANKS; r++)
                    in[r] = values[r] + i * size;
                exact_reduce(type, op, RANKS, in, wanted + i * size);
            }
            for (size_t w = 0; w < words; w++) {
                for (int r = 0; r < RANKS; r++)
                    in[r] = values[r] + w * 4;
                families[family].reduce(in, RANKS, served.sense, got + w * 4);
            }
            if (memcmp(got, wanted, words * 4) != 0)
                fail_msg("%s %s in words of 32 bits is wrong", tutti_type_name(type), tutti_op_name(op));
        }
    }
    assert_int_equal(pairs, 8 * 3);
}

#define WORDS(TYPE, FAMILY)                                                                                            \
    static void words_##TYPE##_##FAMILY(const uint32_t in[], unsigned ranks, struct tutti_sense sense, uint32_t *out)  \
    {                                                                                                                  \
        const struct TUTTI_SENSE_##FAMILY told = TOLD(TUTTI_SENSE_##FAMILY, sense);                                    \
        uint32_t a = tutti_word_enter_##TYPE##_##FAMILY(in[0], told);                                                  \
        for (unsigned r = 1; r < ranks; r++)                                                                           \
            a = tutti_word_fold_##TYPE##_##FAMILY(a, tutti_word_enter_##TYPE##_##FAMILY(in[r], told), told);           \
        *out = tutti_word_leave_##TYPE##_##FAMILY(a, told);                                                            \
    }
TUTTI_WORDS(WORDS)

static const struct {
    int type;
    const char *family;
    void (*reduce)(const uint32_t in[], unsigned ranks, struct tutti_sense sense, uint32_t *out);
} words[] = {
#define WORDS_ROW(TYPE, FAMILY) {TUTTI_TYPE_##TYPE, #FAMILY, words_##TYPE##_##FAMILY},
    TUTTI_WORDS(WORDS_ROW)};
enum { WORDS = sizeof words / sizeof *words, VALUES = 1 << 16 };

/* Two ranks with all pairs of bytes, in another place of the word each; then some with any values. */
static void words_fill(uint64_t *random, int type, unsigned ranks, unsigned char values[RANKS][4 * VALUES])
{
    if (ranks > 2) {
        for (unsigned r = 0; r < ranks; r++)
            exact_fill(random, type, values[r], 4 * VALUES / tutti_type_size(type));
        return;
    }
    for (size_t i = 0; i < VALUES; i++) {
        for (size_t place = 0; place < 4; place++) {
            const size_t pair = (i * 5 + place * 20011) % VALUES;
            values[0][4 * i + place] = (unsigned char)pair;
            values[1][4 * i + place] = (unsigned char)(pair >> 8);
        }
    }
}

static void words_of_small_integers(void **state)
{
    (void)state;
    static unsigned char values[RANKS][4 * VALUES];
    uint64_t random = exact_seed();
    int pairs = 0;
    for (int i = 0; i < TUTTI_TYPES * TUTTI_OPS * 2; i++) {
        const int type = i / 2 / TUTTI_OPS, op = i / 2 % TUTTI_OPS;
        const unsigned ranks = i % 2 ? RANKS : 2;
        const struct tutti_served served = tutti_kernel_served(type, op);
        int row = 0;
        while (row < WORDS && (words[row].type != served.type || strcmp(words[row].family, served.family) != 0))
            row++;
        if (served.type == TUTTI_TYPE_NONE || row == WORDS)
            continue;
        pairs++;
        words_fill(&random, type, ranks, values);
        for (size_t w = 0; w < VALUES; w++) {
            const size_t size = tutti_type_size(type);
            unsigned char wanted[4];
            uint32_t in[RANKS], got;
            for (unsigned r = 0; r < ranks; r++)
                memcpy(&in[r], values[r] + 4 * w, 4);
            for (size_t e = 0; e < 4 / size; e++) {
                const void *one[RANKS];
                for (unsigned r = 0; r < ranks; r++)
                    one[r] = values[r] + 4 * w + e * size;
                exact_reduce(type, op, ranks, one, wanted + e * size);
            }
            words[row].reduce(in, ranks, served.sense, &got);
            if (memcmp(&got, wanted, 4) != 0)
                fail_msg("%s %s in words, %u ranks, is wrong in word %zu", tutti_type_name(type), tutti_op_name(op),
                         ranks, w);
        }
    }
    assert_int_equal(pairs, 2 * 4 * 7); /* 4 types, of which each has all operators but the bitwise ones */
}

/* Every type of a family is in one group, the groups follow each other from 0 on, and each part has an image for each.
 */
static void images(void **state)
{
    (void)state;
    int in[TUTTI_TYPES] = {0}, last = 0;
    enum { PARTS = 5 }; /* of fatbin.h, without the kernels that move data */
    static const struct {
        int group, type;
    } rows[] = {
#define TUTTI_IMAGED(group, TYPE, CLASS) {group, TUTTI_TYPE_##TYPE},
#include "kernels/images.inc"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        in[rows[i].type]++;
        assert_true(rows[i].group == last || rows[i].group == last + 1);
        last = rows[i].group;
    }
    assert_int_equal(PARTS * (last + 1) + 1, TUTTI_FATBINS); /* the last one holds the kernels that move data */
    for (int f = 0; f < FAMILIES; f++)
        assert_int_equal(in[families[f].type], 1);
}

int main(void)
{
    exact_seed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_pair), cmocka_unit_test(words_of_bits),
                                       cmocka_unit_test(words_of_small_integers), cmocka_unit_test(images)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
