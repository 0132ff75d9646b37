/* The types of reductions in kernels: how an element is loaded, combined (operators.h) and stored. Elements are
 * combined in order of PE. One contribution alone is copied as it is.
 *
 * Of every type ID there is tutti_dev_e_ID, as it lies in memory, and tutti_dev_a_ID, in which it is accumulated. */
#ifndef TUTTI_DEVICE_OPS_H
#define TUTTI_DEVICE_OPS_H

/* Signed integers are accumulated as unsigned ones; SIGNED says how they compare. */
#define TUTTI_DEV_INTEGER(id, element, SIGNED)                                                                         \
    typedef element __attribute__((may_alias)) tutti_dev_e_##id;                                                       \
    typedef element tutti_dev_a_##id;                                                                                  \
    TUTTI_DEV_OPERATORS_INTEGER(tutti_dev_##id, element, SIGNED)                                                       \
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
            return tutti_dev_##id##_BAND(a, b);                                                                        \
        case TSHMEM_OP_OR:                                                                                             \
            return tutti_dev_##id##_BOR(a, b);                                                                         \
        case TSHMEM_OP_XOR:                                                                                            \
            return tutti_dev_##id##_BXOR(a, b);                                                                        \
        case TSHMEM_OP_MAX:                                                                                            \
            return tutti_dev_##id##_MAX(a, b);                                                                         \
        case TSHMEM_OP_MIN:                                                                                            \
            return tutti_dev_##id##_MIN(a, b);                                                                         \
        case TSHMEM_OP_SUM:                                                                                            \
            return tutti_dev_##id##_SUM(a, b);                                                                         \
        default:                                                                                                       \
            return tutti_dev_##id##_PROD(a, b);                                                                        \
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

#define TUTTI_DEV_FLOATING(id, accumulator)                                                                            \
    typedef accumulator tutti_dev_a_##id;                                                                              \
    TUTTI_DEV_OPERATORS_FLOAT(tutti_dev_##id, accumulator)                                                             \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_combine_##id(int op, tutti_dev_a_##id a, tutti_dev_a_##id b)                  \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case TSHMEM_OP_MAX:                                                                                            \
            return tutti_dev_##id##_MAX(a, b);                                                                         \
        case TSHMEM_OP_MIN:                                                                                            \
            return tutti_dev_##id##_MIN(a, b);                                                                         \
        case TSHMEM_OP_SUM:                                                                                            \
            return tutti_dev_##id##_SUM(a, b);                                                                         \
        default:                                                                                                       \
            return tutti_dev_##id##_PROD(a, b);                                                                        \
        }                                                                                                              \
    }
#define TUTTI_DEV_ASIS(id, element)                                                                                    \
    TUTTI_DEV_FLOATING(id, element)                                                                                    \
    typedef element __attribute__((may_alias)) tutti_dev_e_##id;                                                       \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_load_##id(tutti_dev_e_##id e)                                                 \
    {                                                                                                                  \
        return e;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_e_##id tutti_dev_store_##id(tutti_dev_a_##id a, int several)                                   \
    {                                                                                                                  \
        return several ? tutti_dev_settle_##element(a) : a;                                                            \
    }
TUTTI_DEV_ASIS(FLOAT, float)
TUTTI_DEV_ASIS(DOUBLE, double)
#undef TUTTI_DEV_ASIS

/* A contribution alone is not stored by tutti_dev_store_...(): see reduce.h. */
#define TUTTI_DEV_HALVES(id, kind)                                                                                     \
    TUTTI_DEV_FLOATING(id, float)                                                                                      \
    typedef uint16_t __attribute__((may_alias)) tutti_dev_e_##id;                                                      \
    TUTTI_DEV float tutti_dev_load_##id(uint16_t bits)                                                                 \
    {                                                                                                                  \
        return tutti_dev_from_##kind(bits);                                                                            \
    }                                                                                                                  \
    TUTTI_DEV uint16_t tutti_dev_store_##id(float a, int several)                                                      \
    {                                                                                                                  \
        (void)several;                                                                                                 \
        return tutti_dev_narrow_##kind(a);                                                                             \
    }
TUTTI_DEV_HALVES(HALF, half)
TUTTI_DEV_HALVES(BFLOAT16, bfloat16)
#undef TUTTI_DEV_HALVES

#define TUTTI_DEV_COMPLEX(id, part)                                                                                    \
    typedef struct {                                                                                                   \
        part re, im;                                                                                                   \
    } TUTTI_DEV_ALIAS tutti_dev_e_##id;                                                                                \
    typedef tutti_dev_e_##id tutti_dev_a_##id;                                                                         \
    TUTTI_DEV_OPERATORS_COMPLEX(tutti_dev_##id, tutti_dev_a_##id, part)                                                \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_load_##id(tutti_dev_e_##id e)                                                 \
    {                                                                                                                  \
        return e;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_e_##id tutti_dev_store_##id(tutti_dev_a_##id a, int several)                                   \
    {                                                                                                                  \
        a.re = several ? tutti_dev_settle_##part(a.re) : a.re;                                                         \
        a.im = several ? tutti_dev_settle_##part(a.im) : a.im;                                                         \
        return a;                                                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_a_##id tutti_dev_combine_##id(int op, tutti_dev_a_##id a, tutti_dev_a_##id b)                  \
    {                                                                                                                  \
        return op == TSHMEM_OP_SUM ? tutti_dev_##id##_SUM(a, b) : tutti_dev_##id##_PROD(a, b);                         \
    }
TUTTI_DEV_COMPLEX(COMPLEXF, float)
TUTTI_DEV_COMPLEX(COMPLEXD, double)
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
TUTTI_DEV_FLOATING(LONGDOUBLE, long double)
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
#endif
#undef TUTTI_DEV_FLOATING

#endif
