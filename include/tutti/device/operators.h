/* The operators of reductions, once for the kernels of programs and of the library: `a` holds the contributions so far,
 * `b` is the next one. Rules that keep the bits equal on every device and instruction set:
 *
 * - Integers wrap: they are combined as unsigned ones.
 * - MIN and MAX hand on a NaN. Of equal values (0.0 and -0.0) the earlier one stays.
 * - Complex products are (ar*br - ai*bi, ar*bi + ai*br), each operation rounded; infinities are not recovered.
 * - From two contributions on, a NaN as result is the canonical quiet NaN, positive and without payload (float
 *   7fc00000, double 7ff8000000000000, float16 7e00, bfloat16 7fc0); of complex numbers each part by itself.
 * - Half precision is accumulated in float and rounded once, to nearest, even where two are as near.
 *
 * The environment (env_c.h, env_cuda.h) defines before: TUTTI_DEV, tutti_dev_bits_...(), tutti_dev_from_half(),
 * tutti_dev_to_half(), tutti_dev_mul_...(). TUTTI_DEV_OPERATORS_CLASS(NAME, T, ...) makes T NAME_OP(T a, T b). */
#ifndef TUTTI_DEVICE_OPERATORS_H
#define TUTTI_DEVICE_OPERATORS_H

#define TUTTI_DEV_OPERATOR(NAME, OP, T, RESULT)                                                                        \
    TUTTI_DEV T NAME##_##OP(T a, T b)                                                                                  \
    {                                                                                                                  \
        return (T)(RESULT);                                                                                            \
    }

/* COMPARED: the type as which integers compare. */
#define TUTTI_DEV_OPERATORS_ORDER(NAME, T, COMPARED)                                                                   \
    TUTTI_DEV_OPERATOR(NAME, MIN, T, (COMPARED)b < (COMPARED)a ? b : a)                                                \
    TUTTI_DEV_OPERATOR(NAME, MAX, T, (COMPARED)b > (COMPARED)a ? b : a)

/* T is unsigned. 1u lifts the small types over int, where a product of two of them could overflow. */
#define TUTTI_DEV_OPERATORS_INTEGER(NAME, T, COMPARED)                                                                 \
    TUTTI_DEV_OPERATORS_ORDER(NAME, T, COMPARED)                                                                       \
    TUTTI_DEV_OPERATOR(NAME, SUM, T, a + b)                                                                            \
    TUTTI_DEV_OPERATOR(NAME, PROD, T, 1u * a * b)                                                                      \
    TUTTI_DEV_OPERATOR(NAME, BAND, T, a &b)                                                                            \
    TUTTI_DEV_OPERATOR(NAME, BOR, T, a | b)                                                                            \
    TUTTI_DEV_OPERATOR(NAME, BXOR, T, a ^ b)

/* A NaN in `a` stays: both comparisons with it are false. */
#define TUTTI_DEV_OPERATORS_FLOAT(NAME, T)                                                                             \
    TUTTI_DEV_OPERATOR(NAME, SUM, T, a + b)                                                                            \
    TUTTI_DEV_OPERATOR(NAME, PROD, T, a *b)                                                                            \
    TUTTI_DEV_OPERATOR(NAME, MIN, T, ((b < a) | (b != b)) ? b : a)                                                     \
    TUTTI_DEV_OPERATOR(NAME, MAX, T, ((b > a) | (b != b)) ? b : a)

/* T: a struct with the parts re and im, of type PART (float, double). */
#define TUTTI_DEV_OPERATORS_COMPLEX(NAME, T, PART)                                                                     \
    TUTTI_DEV T NAME##_SUM(T a, T b)                                                                                   \
    {                                                                                                                  \
        T r;                                                                                                           \
        r.re = a.re + b.re;                                                                                            \
        r.im = a.im + b.im;                                                                                            \
        return r;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV T NAME##_PROD(T a, T b)                                                                                  \
    {                                                                                                                  \
        T r;                                                                                                           \
        r.re = tutti_dev_mul_##PART(a.re, b.re) - tutti_dev_mul_##PART(a.im, b.im);                                    \
        r.im = tutti_dev_mul_##PART(a.re, b.im) + tutti_dev_mul_##PART(a.im, b.re);                                    \
        return r;                                                                                                      \
    }

/* A result of two or more contributions: the canonical NaN in place of any. */
TUTTI_DEV float tutti_dev_settle_float(float a)
{
    return a != a ? tutti_dev_bits_float(0x7fc00000u) : a;
}

TUTTI_DEV double tutti_dev_settle_double(double a)
{
    return a != a ? tutti_dev_bits_double(0x7ff8000000000000u) : a;
}

/* ---- half precision: widened for accumulation, narrowed in the end, when a NaN is made canonical ---- */

TUTTI_DEV uint16_t tutti_dev_narrow_half(float a)
{
    const uint16_t half = tutti_dev_to_half(a);
    return a != a ? (uint16_t)0x7e00 : half;
}

TUTTI_DEV float tutti_dev_from_bfloat16(uint16_t bits)
{
    return tutti_dev_bits_float((uint32_t)bits << 16);
}

/* Adding just under half of the last place (exactly half where that place is odd) carries where needed. */
TUTTI_DEV uint16_t tutti_dev_narrow_bfloat16(float a)
{
    const uint32_t bits = tutti_dev_float_bits(a);
    return (uint16_t)(a != a ? 0x7fc0u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
