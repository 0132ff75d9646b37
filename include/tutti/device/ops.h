/* The operators of reductions in kernels, type by type. The rules that keep the bits equal to those of the host's
 * reductions:
 *
 * - Elements are combined in order of PE. One contribution alone is copied as it is.
 * - Integers wrap. MIN and MAX hand on a NaN; of equal values the lowest PE's stays.
 * - From two contributions on, a NaN that comes out is the canonical quiet one; of complex numbers each part by itself.
 * - Half precision is accumulated in float over all PEs and rounded once. No fused multiply-add.
 *
 * Of every type ID there is tutti_dev_e_ID, as it lies in memory, and tutti_dev_a_ID, in which it is accumulated. */
#ifndef TUTTI_DEVICE_OPS_H
#define TUTTI_DEVICE_OPS_H

/* A NaN that is not `a` itself stays as it came: settled in the end. Both comparisons with a NaN in `a` are false. */
#define TUTTI_DEV_LOWER(a, b)  ((((b) < (a)) | ((b) != (b))) ? (b) : (a))
#define TUTTI_DEV_HIGHER(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))

/* Signed integers are accumulated as unsigned ones where they are added; SIGNED says how they compare. */
#define TUTTI_DEV_INTEGER(id, element, SIGNED)                                                                         \
    typedef element __attribute__((may_alias)) tutti_dev_e_##id;                                                       \
    typedef element tutti_dev_a_##id;                                                                                  \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_load_##id(tutti_dev_e_##id e)                                                 \
    {                                                                                                                  \
        return e;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_e_##id tutti_dev_store_##id(tutti_dev_a_##id a, int several)                                   \
    {                                                                                                                  \
        (void)several;                                                                                                 \
        return a;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_combine_##id(int op, tutti_dev_a_##id a, tutti_dev_a_##id b)                  \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case TSHMEM_OP_AND:                                                                                            \
            return (tutti_dev_a_##id)(a & b);                                                                          \
        case TSHMEM_OP_OR:                                                                                             \
            return (tutti_dev_a_##id)(a | b);                                                                          \
        case TSHMEM_OP_XOR:                                                                                            \
            return (tutti_dev_a_##id)(a ^ b);                                                                          \
        case TSHMEM_OP_MAX:                                                                                            \
            return (SIGNED)b > (SIGNED)a ? b : a;                                                                      \
        case TSHMEM_OP_MIN:                                                                                            \
            return (SIGNED)b < (SIGNED)a ? b : a;                                                                      \
        case TSHMEM_OP_SUM:                                                                                            \
            return (tutti_dev_a_##id)(a + b);                                                                          \
        default: /* 1u lifts the small types over int, where a product of two could overflow */                        \
            return (tutti_dev_a_##id)(1u * a * b);                                                                     \
        }                                                                                                              \
    }
TUTTI_DEV_INTEGER(INT8, uint8_t, int8_t)
TUTTI_DEV_INTEGER(UINT8, uint8_t, uint8_t)
TUTTI_DEV_INTEGER(INT16, uint16_t, int16_t)
TUTTI_DEV_INTEGER(UINT16, uint16_t, uint16_t)
TUTTI_DEV_INTEGER(INT32, uint32_t, int32_t)
TUTTI_DEV_INTEGER(UINT32, uint32_t, uint32_t)
TUTTI_DEV_INTEGER(INT64, uint64_t, int64_t)
TUTTI_DEV_INTEGER(UINT64, uint64_t, uint64_t)
#undef TUTTI_DEV_INTEGER

TUTTI_DEV float tutti_dev_settle_float(float a, int several)
{
    return several && a != a ? tutti_dev_bits_float(0x7fc00000u) : a;
}

TUTTI_DEV double tutti_dev_settle_double(double a, int several)
{
    return several && a != a ? tutti_dev_bits_double(0x7ff8000000000000u) : a;
}

#define TUTTI_DEV_FLOATING(id, accumulator)                                                                            \
    typedef accumulator tutti_dev_a_##id;                                                                              \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_combine_##id(int op, tutti_dev_a_##id a, tutti_dev_a_##id b)                  \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case TSHMEM_OP_MAX:                                                                                            \
            return TUTTI_DEV_HIGHER(a, b);                                                                             \
        case TSHMEM_OP_MIN:                                                                                            \
            return TUTTI_DEV_LOWER(a, b);                                                                              \
        case TSHMEM_OP_SUM:                                                                                            \
            return a + b;                                                                                              \
        default:                                                                                                       \
            return a * b;                                                                                              \
        }                                                                                                              \
    }
#define TUTTI_DEV_ASIS(id, element, settle)                                                                            \
    TUTTI_DEV_FLOATING(id, element)                                                                                    \
    typedef element __attribute__((may_alias)) tutti_dev_e_##id;                                                       \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_load_##id(tutti_dev_e_##id e)                                                 \
    {                                                                                                                  \
        return e;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_e_##id tutti_dev_store_##id(tutti_dev_a_##id a, int several)                                   \
    {                                                                                                                  \
        return settle(a, several);                                                                                     \
    }
TUTTI_DEV_ASIS(FLOAT, float, tutti_dev_settle_float)
TUTTI_DEV_ASIS(DOUBLE, double, tutti_dev_settle_double)
#undef TUTTI_DEV_ASIS

TUTTI_DEV_FLOATING(HALF, float)
TUTTI_DEV_FLOATING(BFLOAT16, float)
#undef TUTTI_DEV_FLOATING
typedef uint16_t __attribute__((may_alias)) tutti_dev_e_HALF;
typedef uint16_t __attribute__((may_alias)) tutti_dev_e_BFLOAT16;

TUTTI_DEV float tutti_dev_load_HALF(uint16_t bits)
{
    return tutti_dev_from_half(bits);
}

TUTTI_DEV uint16_t tutti_dev_store_HALF(float a, int several)
{
    (void)several; /* alone it is not stored by this: see reduce.h */
    return a != a ? 0x7e00 : tutti_dev_to_half(a);
}

TUTTI_DEV float tutti_dev_load_BFLOAT16(uint16_t bits)
{
    return tutti_dev_bits_float((uint32_t)bits << 16);
}

/* To nearest, even where two are as near. */
TUTTI_DEV uint16_t tutti_dev_store_BFLOAT16(float a, int several)
{
    const uint32_t bits = tutti_dev_float_bits(a);
    (void)several;
    return a != a ? 0x7fc0 : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#define TUTTI_DEV_COMPLEX(id, part, mul, settle)                                                                       \
    typedef struct {                                                                                                   \
        part re, im;                                                                                                   \
    } TUTTI_DEV_ALIAS tutti_dev_e_##id;                                                                                \
    typedef tutti_dev_e_##id tutti_dev_a_##id;                                                                         \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_load_##id(tutti_dev_e_##id e)                                                 \
    {                                                                                                                  \
        return e;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_e_##id tutti_dev_store_##id(tutti_dev_a_##id a, int several)                                   \
    {                                                                                                                  \
        a.re = settle(a.re, several);                                                                                  \
        a.im = settle(a.im, several);                                                                                  \
        return a;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_combine_##id(int op, tutti_dev_a_##id a, tutti_dev_a_##id b)                  \
    {                                                                                                                  \
        tutti_dev_a_##id r;                                                                                            \
        r.re = op == TSHMEM_OP_SUM ? a.re + b.re : mul(a.re, b.re) - mul(a.im, b.im);                                  \
        r.im = op == TSHMEM_OP_SUM ? a.im + b.im : mul(a.re, b.im) + mul(a.im, b.re);                                  \
        return r;                                                                                                      \
    }
TUTTI_DEV_COMPLEX(COMPLEXF, float, tutti_dev_mul_float, tutti_dev_settle_float)
TUTTI_DEV_COMPLEX(COMPLEXD, double, tutti_dev_mul_double, tutti_dev_settle_double)
#undef TUTTI_DEV_COMPLEX

/* Every type of the kernels: ROW(ID, its number in enum tshmem_type). */
#define TUTTI_DEV_TYPES(ROW)                                                                                           \
    ROW(INT8, TSHMEM_INT8)                                                                                             \
    ROW(UINT8, TSHMEM_UINT8)                                                                                           \
    ROW(INT16, TSHMEM_INT16)                                                                                           \
    ROW(UINT16, TSHMEM_UINT16)                                                                                         \
    ROW(INT32, TSHMEM_INT32)                                                                                           \
    ROW(UINT32, TSHMEM_UINT32)                                                                                         \
    ROW(INT64, TSHMEM_INT64)                                                                                           \
    ROW(UINT64, TSHMEM_UINT64)                                                                                         \
    ROW(HALF, TSHMEM_ID_HALF)                                                                                          \
    ROW(BFLOAT16, TSHMEM_ID_BFLOAT16)                                                                                  \
    ROW(FLOAT, TSHMEM_ID_FLOAT)                                                                                        \
    ROW(DOUBLE, TSHMEM_ID_DOUBLE)                                                                                      \
    ROW(COMPLEXF, TSHMEM_ID_COMPLEXF)                                                                                  \
    ROW(COMPLEXD, TSHMEM_ID_COMPLEXD)                                                                                  \
    TUTTI_DEV_LONGDOUBLE(ROW)

#ifdef __CUDACC__
#define TUTTI_DEV_LONGDOUBLE(ROW)
#else
/* The host alone has it. Its last bytes hold nothing, and are made zero. */
#define TUTTI_DEV_LONGDOUBLE(ROW) ROW(LONGDOUBLE, TSHMEM_ID_LONGDOUBLE)
typedef long double tutti_dev_a_LONGDOUBLE;
typedef struct __attribute__((may_alias)) {
    char bytes[sizeof(long double)];
} tutti_dev_e_LONGDOUBLE;

TUTTI_DEV long double tutti_dev_load_LONGDOUBLE(tutti_dev_e_LONGDOUBLE e)
{
    long double value;
    memcpy(&value, e.bytes, sizeof value);
    return value;
}

TUTTI_DEV tutti_dev_e_LONGDOUBLE tutti_dev_store_LONGDOUBLE(long double a, int several)
{
    tutti_dev_e_LONGDOUBLE e = TUTTI_DEV_ZERO;
    (void)several;
    memcpy(e.bytes, &a, 10);
    return e;
}

TUTTI_DEV long double tutti_dev_combine_LONGDOUBLE(int op, long double a, long double b)
{
    switch (op) {
    case TSHMEM_OP_MAX:
        return TUTTI_DEV_HIGHER(a, b);
    case TSHMEM_OP_MIN:
        return TUTTI_DEV_LOWER(a, b);
    case TSHMEM_OP_SUM:
        return a + b;
    default:
        return a * b;
    }
}
#endif

#endif
