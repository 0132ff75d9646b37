/* Half precision: all 65536 values to float, and the float values round every boundary back, on every instruction set.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "exact.h"
#include "kernels/variants.h"

static const int types[] = {TUTTI_TYPE_F16, TUTTI_TYPE_BF16};

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void widen_all(void **state)
{
    (void)state;
    static uint16_t half[65536 + 5];
    static float wide[65536 + 5];
    const struct tutti_c_variant *variant;
    for (int v = 0; (variant = tutti_kernels_c(v)); v++) {
        for (int t = 0; t < 2; t++) {
            const struct tutti_c_pair *const pair = tutti_kernels_c_pair(variant, types[t], TUTTI_OP_SUM);
            for (unsigned shift = 0; shift < 5; shift++) { /* other positions in a vector */
                for (unsigned i = 0; i < 65536; i++)
                    half[i + shift] = (uint16_t)i;
                pair->widen(wide, half + shift, 65536 - shift);
                for (unsigned i = 0; i < 65536 - shift; i++) {
                    const double want = exact_from_half(types[t], (uint16_t)i);
                    if (isnan(want) ? !isnan(wide[i]) : bits_of(wide[i]) != bits_of((float)want))
                        fail_msg("%s %s: %04x becomes %a, not %a", variant->name, tutti_type_name(types[t]), i, wide[i],
                                 want);
                }
            }
        }
    }
}

static void narrow_some(const struct tutti_c_variant *variant, int type, const float *from, size_t n)
{
    static uint16_t out[4096];
    tutti_kernels_c_pair(variant, type, TUTTI_OP_SUM)->narrow(out, from, n);
    for (size_t i = 0; i < n; i++) {
        if (out[i] != exact_to_half(type, from[i]))
            fail_msg("%s %s: %a becomes %04x, not %04x", variant->name, tutti_type_name(type), from[i], out[i],
                     exact_to_half(type, from[i]));
    }
}

/* Accumulators hold the canonical NaN alone; everything else may come. */
static float usable(uint32_t bits)
{
    const float f = of_bits(bits);
    return isnan(f) ? of_bits(0x7fc00000) : f;
}

static void narrow_boundaries(void **state)
{
    (void)state;
    const struct tutti_c_variant *variant;
    float from[4096];
    for (int v = 0; (variant = tutti_kernels_c(v)); v++) {
        for (int t = 0; t < 2; t++) {
            size_t n = 0;
            for (unsigned half = 0; half < 65536; half++) {
                const float here = (float)exact_from_half(types[t], (uint16_t)half);
                const float next = (float)exact_from_half(types[t], (uint16_t)(half + 1));
                const uint32_t bits = bits_of(here), middle = bits_of((float)(((double)here + (double)next) / 2));
                for (int d = -1; d <= 1; d++) {
                    from[n++] = usable(bits + (uint32_t)d);
                    from[n++] = usable(middle + (uint32_t)d);
                }
                if (n + 6 > 4096 - (half & 15) || half == 65535) {
                    narrow_some(variant, types[t], from, n);
                    n = 0;
                }
            }
        }
    }
}

static void narrow_random(void **state)
{
    (void)state;
    const struct tutti_c_variant *variant;
    uint64_t random = exact_seed();
    float from[4096];
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 4096; i++)
            from[i] = usable((uint32_t)exact_random(&random));
        for (int v = 0; (variant = tutti_kernels_c(v)); v++) {
            for (int t = 0; t < 2; t++)
                narrow_some(variant, types[t], from, 4096 - (unsigned)round % 37);
        }
    }
}

int main(void)
{
    exact_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widen_all),
        cmocka_unit_test(narrow_boundaries),
        cmocka_unit_test(narrow_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
