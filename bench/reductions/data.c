#include "bench/reductions/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/types.h"

enum { PIECE = 2048 }; /* elements worked on at a time */

static uint64_t data_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Magnitude about 1, either sign. Products of many stay finite. */
static double real_of(uint64_t h, int op)
{
    double unit = (double)(h >> 12) * 0x1p-52;
    double size = op == TUTTI_OP_PROD ? 0.75 + 0.5 * unit : 0.5 + unit;
    return h & 1 ? -size : size;
}

static float widen_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);
    return (float)(bits & 0x8000 ? -size : size);
}

static uint16_t narrow_half(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs((double)value);
    if (isnan(size))
        return sign | 0x7e00;
    if (size >= 65520)
        return sign | 0x7c00;
    if (size < 0x1p-25)
        return sign;
    int exponent;
    frexp(size, &exponent);
    int unit = exponent - 11 < -24 ? -24 : exponent - 11; /* weight of the last bit */
    double steps = nearbyint(ldexp(size, -unit));         /* to nearest, ties to even */
    return (uint16_t)(sign | (uint16_t)((unit + 24) * 1024 + (int)steps));
}

static float widen_bfloat(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

static uint16_t narrow_bfloat(float value)
{
    uint32_t wide;
    memcpy(&wide, &value, 4);
    if (isnan(value))
        return (uint16_t)(wide >> 16 | 0x40);
    return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

static uint64_t integer_of(uint64_t h, int op)
{
    int logical = op == TUTTI_OP_LAND || op == TUTTI_OP_LOR || op == TUTTI_OP_LXOR;
    return logical && (h >> 60) < 5 ? 0 : h;
}

void bench_fill(int type, int op, uint64_t seed, int rank, size_t first, size_t n, void *out)
{
    uint64_t base = data_mix(seed ^ data_mix((uint64_t)rank + 1));
#define EACH for (size_t i = 0; i < n; i++)
#define H    data_mix(base + first + i)
#define INTEGER(ID, T)                                                                                                 \
    case TUTTI_TYPE_##ID:                                                                                              \
        EACH((T *)out)[i] = (T)integer_of(H, op);                                                                      \
        break;
#define PAIR(ID, T, V, I)                                                                                              \
    case TUTTI_TYPE_##ID:                                                                                              \
        EACH                                                                                                           \
        {                                                                                                              \
            uint64_t h = H;                                                                                            \
            ((T *)out)[i].value = (V)((int)(h % 15) - 7);                                                              \
            ((T *)out)[i].index = (I)(h >> 40 & 0xffff);                                                               \
        }                                                                                                              \
        break;
    switch (type) {
        INTEGER(I8, int8_t)
        INTEGER(U8, uint8_t)
        INTEGER(I16, int16_t)
        INTEGER(U16, uint16_t)
        INTEGER(I32, int32_t)
        INTEGER(U32, uint32_t)
        INTEGER(I64, int64_t)
        INTEGER(U64, uint64_t)
    case TUTTI_TYPE_F16:
        EACH((uint16_t *)out)[i] = narrow_half((float)real_of(H, op));
        break;
    case TUTTI_TYPE_BF16:
        EACH((uint16_t *)out)[i] = narrow_bfloat((float)real_of(H, op));
        break;
    case TUTTI_TYPE_F32:
        EACH((float *)out)[i] = (float)real_of(H, op);
        break;
    case TUTTI_TYPE_F64:
        EACH((double *)out)[i] = real_of(H, op);
        break;
    case TUTTI_TYPE_C32:
        EACH((tutti_c32 *)out)[i] = (tutti_c32){(float)(real_of(H, op) / 1.5), (float)(real_of(data_mix(H), op) / 1.5)};
        break;
    case TUTTI_TYPE_C64:
        EACH((tutti_c64 *)out)[i] = (tutti_c64){real_of(H, op) / 1.5, real_of(data_mix(H), op) / 1.5};
        break;
        PAIR(F32_I32, tutti_f32_i32, float, int32_t)
        PAIR(F64_I32, tutti_f64_i32, double, int32_t)
        PAIR(I64_I32, tutti_i64_i32, int64_t, int32_t)
        PAIR(I32_I32, tutti_i32_i32, int32_t, int32_t)
        PAIR(I16_I32, tutti_i16_i32, int16_t, int32_t)
        PAIR(F32_F32, tutti_f32_f32, float, float)
        PAIR(F64_F64, tutti_f64_f64, double, double)
    }
#undef INTEGER
#undef PAIR
}

/* Accumulators are of the type itself, but float for half precision, which is rounded once at the end. */
union piece {
    float f[PIECE];
    tutti_c64 widest[PIECE];
};

#define INTEGERS(T, U)                                                                                                 \
    static void combine_##T(int op, T *a, const T *b, size_t n)                                                        \
    {                                                                                                                  \
        EACH                                                                                                           \
        {                                                                                                              \
            T x = a[i], y = b[i];                                                                                      \
            switch (op) {                                                                                              \
            case TUTTI_OP_SUM:                                                                                         \
                a[i] = (T)((U)x + (U)y);                                                                               \
                break;                                                                                                 \
            case TUTTI_OP_PROD:                                                                                        \
                a[i] = (T)((uint64_t)(U)x * (uint64_t)(U)y);                                                           \
                break;                                                                                                 \
            case TUTTI_OP_MIN:                                                                                         \
                a[i] = y < x ? y : x;                                                                                  \
                break;                                                                                                 \
            case TUTTI_OP_MAX:                                                                                         \
                a[i] = x < y ? y : x;                                                                                  \
                break;                                                                                                 \
            case TUTTI_OP_LAND:                                                                                        \
                a[i] = x && y;                                                                                         \
                break;                                                                                                 \
            case TUTTI_OP_LOR:                                                                                         \
                a[i] = x || y;                                                                                         \
                break;                                                                                                 \
            case TUTTI_OP_LXOR:                                                                                        \
                a[i] = !x != !y;                                                                                       \
                break;                                                                                                 \
            case TUTTI_OP_BAND:                                                                                        \
                a[i] = x & y;                                                                                          \
                break;                                                                                                 \
            case TUTTI_OP_BOR:                                                                                         \
                a[i] = x | y;                                                                                          \
                break;                                                                                                 \
            case TUTTI_OP_BXOR:                                                                                        \
                a[i] = x ^ y;                                                                                          \
                break;                                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }
INTEGERS(int8_t, uint8_t)
INTEGERS(uint8_t, uint8_t)
INTEGERS(int16_t, uint16_t)
INTEGERS(uint16_t, uint16_t)
INTEGERS(int32_t, uint32_t)
INTEGERS(uint32_t, uint32_t)
INTEGERS(int64_t, uint64_t)
INTEGERS(uint64_t, uint64_t)

#define REALS(T)                                                                                                       \
    static void combine_##T(int op, T *a, const T *b, size_t n)                                                        \
    {                                                                                                                  \
        EACH a[i] = op == TUTTI_OP_SUM    ? a[i] + b[i]                                                                \
                    : op == TUTTI_OP_PROD ? a[i] * b[i]                                                                \
                    : op == TUTTI_OP_MIN  ? (b[i] < a[i] ? b[i] : a[i])                                                \
                                          : (a[i] < b[i] ? b[i] : a[i]);                                                \
    }
REALS(float)
REALS(double)

#define COMPLEXES(T)                                                                                                   \
    static void combine_##T(int op, T *a, const T *b, size_t n)                                                        \
    {                                                                                                                  \
        EACH                                                                                                           \
        {                                                                                                              \
            T x = a[i], y = b[i];                                                                                      \
            a[i] = op == TUTTI_OP_SUM ? (T){x.re + y.re, x.im + y.im}                                                  \
                                      : (T){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};                     \
        }                                                                                                              \
    }
COMPLEXES(tutti_c32)
COMPLEXES(tutti_c64)

#define PAIRS(T)                                                                                                       \
    static void combine_##T(int op, T *a, const T *b, size_t n)                                                        \
    {                                                                                                                  \
        EACH                                                                                                           \
        {                                                                                                              \
            int better = op == TUTTI_OP_MINLOC ? b[i].value < a[i].value : b[i].value > a[i].value;                    \
            if (better || (b[i].value == a[i].value && b[i].index < a[i].index))                                       \
                a[i] = b[i];                                                                                           \
        }                                                                                                              \
    }
PAIRS(tutti_f32_i32)
PAIRS(tutti_f64_i32)
PAIRS(tutti_i64_i32)
PAIRS(tutti_i32_i32)
PAIRS(tutti_i16_i32)
PAIRS(tutti_f32_f32)
PAIRS(tutti_f64_f64)

static void data_combine(int type, int op, void *a, const void *b, size_t n)
{
    switch (type) {
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_)                                                          \
    case TUTTI_TYPE_##id:                                                                                              \
        COMBINE_##id(op, a, b, n);                                                                                     \
        break;
#define COMBINE_I8      combine_int8_t
#define COMBINE_U8      combine_uint8_t
#define COMBINE_I16     combine_int16_t
#define COMBINE_U16     combine_uint16_t
#define COMBINE_I32     combine_int32_t
#define COMBINE_U32     combine_uint32_t
#define COMBINE_I64     combine_int64_t
#define COMBINE_U64     combine_uint64_t
#define COMBINE_F16     combine_float
#define COMBINE_BF16    combine_float
#define COMBINE_F32     combine_float
#define COMBINE_F64     combine_double
#define COMBINE_C32     combine_tutti_c32
#define COMBINE_C64     combine_tutti_c64
#define COMBINE_F32_I32 combine_tutti_f32_i32
#define COMBINE_F64_I32 combine_tutti_f64_i32
#define COMBINE_I64_I32 combine_tutti_i64_i32
#define COMBINE_I32_I32 combine_tutti_i32_i32
#define COMBINE_I16_I32 combine_tutti_i16_i32
#define COMBINE_F32_F32 combine_tutti_f32_f32
#define COMBINE_F64_F64 combine_tutti_f64_f64
#include "tutti/types.def"
#undef TUTTI_TYPE
    }
}

static void piece_widen(int type, union piece *piece, const uint16_t *from, size_t n)
{
    EACH piece->f[i] = type == TUTTI_TYPE_F16 ? widen_half(from[i]) : widen_bfloat(from[i]);
}

static void data_contribution(int type, int op, uint64_t seed, int rank, size_t first, size_t n, union piece *out)
{
    if (type != TUTTI_TYPE_F16 && type != TUTTI_TYPE_BF16) {
        bench_fill(type, op, seed, rank, first, n, out);
        return;
    }
    uint16_t narrow[PIECE];
    bench_fill(type, op, seed, rank, first, n, narrow);
    piece_widen(type, out, narrow, n);
}

/* Values of one element as numbers, for comparison and for reports. */
static int element_numbers(int type, const void *at, double out[2])
{
    out[1] = 0;
    switch (type) {
    case TUTTI_TYPE_F16:
    case TUTTI_TYPE_BF16: {
        union piece one;
        piece_widen(type, &one, at, 1);
        out[0] = (double)one.f[0];
        return 1;
    }
    case TUTTI_TYPE_F32:
        out[0] = (double)*(const float *)at;
        return 1;
    case TUTTI_TYPE_F64:
        out[0] = *(const double *)at;
        return 1;
    case TUTTI_TYPE_C32:
        out[0] = (double)((const tutti_c32 *)at)->re;
        out[1] = (double)((const tutti_c32 *)at)->im;
        return 2;
    case TUTTI_TYPE_C64:
        out[0] = ((const tutti_c64 *)at)->re;
        out[1] = ((const tutti_c64 *)at)->im;
        return 2;
    }
    return 0;
}

/* Bytes of the value and of the index of a pair; what lies between and behind them says nothing. */
static int same_bits(int type, const char *a, const char *b)
{
    switch (type) {
#define PAIR(ID, T)                                                                                                    \
    case TUTTI_TYPE_##ID:                                                                                              \
        return memcmp(a, b, sizeof((T *)0)->value) == 0 &&                                                             \
               memcmp(a + offsetof(T, index), b + offsetof(T, index), sizeof((T *)0)->index) == 0;
        PAIR(F32_I32, tutti_f32_i32)
        PAIR(F64_I32, tutti_f64_i32)
        PAIR(I64_I32, tutti_i64_i32)
        PAIR(I32_I32, tutti_i32_i32)
        PAIR(I16_I32, tutti_i16_i32)
        PAIR(F32_F32, tutti_f32_f32)
        PAIR(F64_F64, tutti_f64_f64)
#undef PAIR
    default:
        return memcmp(a, b, tutti_type_size(type)) == 0;
    }
}

static double unit_of(int type)
{
    switch (type) {
    case TUTTI_TYPE_F16:
        return 0x1p-11;
    case TUTTI_TYPE_BF16:
        return 0x1p-8;
    case TUTTI_TYPE_F32:
    case TUTTI_TYPE_C32:
        return 0x1p-24;
    default:
        return 0x1p-53;
    }
}

/* Another order of combination changes a sum by its terms' magnitudes (below 1.5 each) and a product by its factors', a
 * few roundings for each rank. */
static int close_enough(int type, int op, int ranks, const char *a, const char *b)
{
    double x[2], y[2];
    int n = element_numbers(type, a, x);
    if (n == 0 || (op != TUTTI_OP_SUM && op != TUTTI_OP_PROD))
        return 0;
    element_numbers(type, b, y);
    double scale = 1.5 * ranks;
    if (op == TUTTI_OP_PROD)
        scale = hypot(y[0], y[1]);
    double allowed = 4 * ranks * unit_of(type) * scale;
    for (int i = 0; i < n; i++) {
        if (!(fabs(x[i] - y[i]) <= allowed))
            return 0;
    }
    return 1;
}

static void element_print(int type, const char *at, char out[64])
{
    double x[2];
    int n = element_numbers(type, at, x);
    if (n == 1) {
        snprintf(out, 64, "%.17g", x[0]);
    } else if (n == 2) {
        snprintf(out, 64, "(%.17g, %.17g)", x[0], x[1]);
    } else {
        size_t bytes = tutti_type_size(type);
        int used = snprintf(out, 64, "0x");
        for (size_t i = bytes; i-- > 0;)
            used += snprintf(out + used, 64 - (size_t)used, "%02x", (unsigned char)at[i]);
    }
}

int bench_check(int type, int op, uint64_t seed, int ranks, size_t first, int exact, const void *result, size_t n,
                struct bench_wrong *wrong)
{
    size_t size = tutti_type_size(type);
    int half = type == TUTTI_TYPE_F16 || type == TUTTI_TYPE_BF16;
    static union piece all, one;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t m = n - at < PIECE ? n - at : PIECE;
        data_contribution(type, op, seed, 0, first + at, m, &all);
        for (int r = 1; r < ranks; r++) {
            data_contribution(type, op, seed, r, first + at, m, &one);
            data_combine(type, op, &all, &one, m);
        }
        uint16_t *narrow = (uint16_t *)(void *)&one;
        for (size_t i = 0; half && i < m; i++)
            narrow[i] = type == TUTTI_TYPE_F16 ? narrow_half(all.f[i]) : narrow_bfloat(all.f[i]);
        const char *want = half ? (const char *)&one : (const char *)&all;
        const char *got = (const char *)result + at * size;
        for (size_t i = 0; i < m; i++, want += size, got += size) {
            if (same_bits(type, got, want) || (!exact && close_enough(type, op, ranks, got, want)))
                continue;
            wrong->element = first + at + i;
            element_print(type, got, wrong->got);
            element_print(type, want, wrong->right);
            return 0;
        }
    }
    return 1;
}
