#include "exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

uint64_t exact_seed(void)
{
    static uint64_t seed;
    if (!seed) {
        seed = check_seed() | 1;
        printf("TUTTI_TEST_SEED=%llu\n", (unsigned long long)seed);
        fflush(stdout);
    }
    return seed;
}

uint64_t exact_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- half precision ---- */
static void half_shape(int type, int *digits, int *least, double *most)
{
    *digits = type == TUTTI_TYPE_F16 ? 11 : 8;             /* of the significand */
    *least = type == TUTTI_TYPE_F16 ? -24 : -133;          /* exponent of the smallest number */
    *most = type == TUTTI_TYPE_F16 ? 65504.0 : 0x1.fep127; /* largest finite */
}

double exact_from_half(int type, uint16_t half)
{
    int digits, least;
    double most;
    half_shape(type, &digits, &least, &most);
    const int fraction = half & ((1 << (digits - 1)) - 1), exponent = (half & 0x7fff) >> (digits - 1);
    const double sign = half & 0x8000 ? -1 : 1;
    if (exponent == 0x7fff >> (digits - 1))
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, least);
    return sign * ldexp(fraction + (1 << (digits - 1)), least + exponent - 1);
}

uint16_t exact_to_half(int type, double value)
{
    int digits, least, exponent;
    double most;
    half_shape(type, &digits, &least, &most);
    const unsigned infinite = type == TUTTI_TYPE_F16 ? 0x7c00 : 0x7f80;
    const unsigned sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return type == TUTTI_TYPE_F16 ? 0x7e00 : 0x7fc0;
    if (isinf(value))
        return (uint16_t)(sign | infinite);
    frexp(value, &exponent);
    int place = exponent - digits; /* exponent of the last digit kept */
    place = value == 0 || place < least ? least : place;
    const double rounded = nearbyint(ldexp(fabs(value), -place));
    if (ldexp(rounded, place) > most)
        return (uint16_t)(sign | infinite);
    /* Steps of the last place count up through subnormal, normal and the next binade alike. */
    return (uint16_t)(sign | ((unsigned)(place - least) * (1u << (digits - 1)) + (unsigned)rounded));
}

/* ---- values ---- */
static const float hurting[] = {
    0.0f,        -0.0f,     1.0f,        -1.0f,     INFINITY,        -INFINITY,        0x1p-149f,
    -0x1p-149f,  0x1p-126f, 0x1.8p-127f, 0x1p-24f,  0x1p-14f,        0x1.ffcp-15f,     65504.0f,
    65519.9f,    65520.0f,  0x1p127f,    -0x1p127f, 0x1.fffffep127f, -0x1.fffffep127f, 16777216.f,
    -16777216.f, 3.0f,      0.1f,        1e-30f,    1e30f,           2049.0f};
static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xff812345, 0x7fffffff};

static float pick_float(uint64_t *state)
{
    const uint64_t r = exact_random(state);
    float f;
    if (r % 8 < 4) {
        f = (float)((double)(int32_t)(r >> 32) / 65536.0);
    } else if (r % 8 < 6) {
        f = hurting[(r >> 8) % (sizeof hurting / sizeof *hurting)];
    } else {
        const uint32_t bits = r % 64 == 7 ? nans[(r >> 8) % 5] : (uint32_t)(r >> 32);
        memcpy(&f, &bits, sizeof f);
    }
    return f;
}

static double pick_double(uint64_t *state)
{
    const uint64_t r = exact_random(state);
    double d;
    if (r % 4 < 2)
        return pick_float(state);
    if (r % 4 == 2) {
        static const double extremes[] = {
            0x1p-1074, -0x1p-1074, 0x1.8p-1023, 0x1p1023, -0x1p1023, 0x1.fffffffffffffp1023, 1e300, 1e-300};
        return r % 64 == 2 ? extremes[(r >> 8) % 8] : (double)(int64_t)r;
    }
    const uint64_t bits = r % 64 == 7 ? 0x7ff0000000000000u | r >> 16 : r;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t pick_int(uint64_t *state, unsigned bytes)
{
    const uint64_t r = exact_random(state), top = (uint64_t)1 << (8 * bytes - 1);
    static const int near[] = {0, 1, -1, 2, 3, -2, 7};
    if (r % 4 == 0)
        return r >> 3;
    if (r % 4 == 1)
        return top + (uint64_t)(int64_t)near[(r >> 8) % 7];
    return (uint64_t)(int64_t)near[(r >> 8) % 7];
}

static void put(unsigned char *to, uint64_t value, unsigned bytes)
{
    memcpy(to, &value, bytes); /* little-endian machines alone */
}

static void put_float(uint64_t *state, unsigned char *to)
{
    const float f = pick_float(state);
    memcpy(to, &f, sizeof f);
}

static void put_double(uint64_t *state, unsigned char *to)
{
    const double d = pick_double(state);
    memcpy(to, &d, sizeof d);
}

static void fill_one(uint64_t *s, int type, unsigned char *e)
{
    switch (type) {
    case TUTTI_TYPE_F16:
    case TUTTI_TYPE_BF16:
        put(e, exact_random(s) % 2 ? exact_random(s) : exact_to_half(type, pick_float(s)), 2);
        break;
    case TUTTI_TYPE_F32:
        put_float(s, e);
        break;
    case TUTTI_TYPE_F64:
        put_double(s, e);
        break;
    case TUTTI_TYPE_C32:
        put_float(s, e);
        put_float(s, e + 4);
        break;
    case TUTTI_TYPE_C64:
        put_double(s, e);
        put_double(s, e + 8);
        break;
    case TUTTI_TYPE_F32_I32:
        put_float(s, e);
        put(e + 4, pick_int(s, 4), 4);
        break;
    case TUTTI_TYPE_F64_I32:
        put_double(s, e);
        put(e + 8, pick_int(s, 4), 4);
        put(e + 12, exact_random(s), 4);
        break;
    case TUTTI_TYPE_I64_I32:
        put(e, pick_int(s, 8), 8);
        put(e + 8, pick_int(s, 4), 4);
        put(e + 12, exact_random(s), 4);
        break;
    case TUTTI_TYPE_I32_I32:
        put(e, pick_int(s, 4), 4);
        put(e + 4, pick_int(s, 4), 4);
        break;
    case TUTTI_TYPE_I16_I32:
        put(e, pick_int(s, 2), 2);
        put(e + 2, exact_random(s), 2);
        put(e + 4, pick_int(s, 4), 4);
        break;
    case TUTTI_TYPE_F32_F32:
        put_float(s, e);
        put_float(s, e + 4);
        break;
    case TUTTI_TYPE_F64_F64:
        put_double(s, e);
        put_double(s, e + 8);
        break;
    default:
        put(e, pick_int(s, (unsigned)tutti_type_size(type)), (unsigned)tutti_type_size(type));
    }
}

void exact_fill(uint64_t *state, int type, void *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fill_one(state, type, (unsigned char *)out + i * tutti_type_size(type));
}

/* ---- operators ---- */
static int is_signed(int type)
{
    return type == TUTTI_TYPE_I8 || type == TUTTI_TYPE_I16 || type == TUTTI_TYPE_I32 || type == TUTTI_TYPE_I64;
}

static __int128 get_int(const unsigned char *e, unsigned bytes, int with_sign)
{
    __int128 value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (__int128)e[i] << (8 * i);
    if (with_sign && e[bytes - 1] & 0x80)
        value -= (__int128)1 << (8 * bytes);
    return value;
}

static __int128 int_op(int op, __int128 a, __int128 b)
{
    switch (op) {
    case TUTTI_OP_SUM:
        return a + b;
    case TUTTI_OP_PROD:
        return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case TUTTI_OP_MIN:
        return a <= b ? a : b;
    case TUTTI_OP_MAX:
        return a >= b ? a : b;
    case TUTTI_OP_LAND:
        return a && b;
    case TUTTI_OP_LOR:
        return a || b;
    case TUTTI_OP_LXOR:
        return !a != !b;
    case TUTTI_OP_BAND:
        return a & b;
    case TUTTI_OP_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

static double float_op(int op, double a, double b, int single)
{
    volatile double
        r; /* sums and products of floats are rounded twice without harm: double has more than 2 * 24 + 1 digits */
    if (op == TUTTI_OP_SUM)
        r = a + b;
    else if (op == TUTTI_OP_PROD)
        r = a * b;
    else if (isnan(a) || isnan(b))
        r = NAN;
    else if (op == TUTTI_OP_MIN)
        r = a <= b ? a : b;
    else
        r = a >= b ? a : b;
    if (single) {
        volatile float f = (float)r;
        return f;
    }
    return r;
}

static void store_single(unsigned char *out, double value)
{
    float f = (float)value;
    const uint32_t canonical = 0x7fc00000;
    memcpy(out, &f, 4);
    if (isnan(value))
        memcpy(out, &canonical, 4);
}

static void store_double(unsigned char *out, double value)
{
    const uint64_t canonical = 0x7ff8000000000000u;
    memcpy(out, &value, 8);
    if (isnan(value))
        memcpy(out, &canonical, 8);
}

static double load_float(const unsigned char *e, int single)
{
    float f;
    double d;
    memcpy(&f, e, 4);
    if (single)
        return f;
    memcpy(&d, e, 8);
    return d;
}

static void reduce_int(int type, int op, unsigned ranks, const void *const in[], unsigned char *out)
{
    const unsigned bytes = (unsigned)tutti_type_size(type);
    for (unsigned r = 0; r < ranks; r++) {
        const __int128 b = get_int(in[r], bytes, is_signed(type));
        const __int128 v = r == 0 ? b : int_op(op, get_int(out, bytes, is_signed(type)), b);
        for (unsigned i = 0; i < bytes; i++)
            out[i] = (unsigned char)(v >> (8 * i));
    }
}

static void reduce_float(int type, int op, unsigned ranks, const void *const in[], unsigned char *out)
{
    const int half = type == TUTTI_TYPE_F16 || type == TUTTI_TYPE_BF16, single = half || type == TUTTI_TYPE_F32;
    double a = 0;
    for (unsigned r = 0; r < ranks; r++) {
        uint16_t bits;
        memcpy(&bits, in[r], 2);
        const double b = half ? exact_from_half(type, bits) : load_float(in[r], single);
        a = r == 0 ? b : float_op(op, a, b, single);
    }
    if (half) {
        const uint16_t bits = exact_to_half(type, a);
        memcpy(out, &bits, 2);
    } else if (single) {
        store_single(out, a);
    } else {
        store_double(out, a);
    }
}

static void reduce_complex(int type, int op, unsigned ranks, const void *const in[], unsigned char *out)
{
    const int single = type == TUTTI_TYPE_C32;
    double re = load_float(in[0], single), im = load_float((const unsigned char *)in[0] + (single ? 4 : 8), single);
    for (unsigned r = 1; r < ranks; r++) {
        const double br = load_float(in[r], single),
                     bi = load_float((const unsigned char *)in[r] + (single ? 4 : 8), single);
        if (op == TUTTI_OP_SUM) {
            re = float_op(op, re, br, single);
            im = float_op(op, im, bi, single);
        } else {
            const double rr = float_op(op, re, br, single), ii = float_op(op, im, bi, single);
            const double ri = float_op(op, re, bi, single), ir = float_op(op, im, br, single);
            re = float_op(TUTTI_OP_SUM, rr, -ii, single);
            im = float_op(TUTTI_OP_SUM, ri, ir, single);
        }
    }
    if (single) {
        store_single(out, re);
        store_single(out + 4, im);
    } else {
        store_double(out, re);
        store_double(out + 8, im);
    }
}

/* -1: a before b, 0: equal or both NaN, 1: b before a. NaN is before everything. */
static int order(long double a, long double b, int smallest)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : isnan(a) ? -1 : 1;
    return a == b ? 0 : (a < b) == smallest ? -1 : 1;
}

static void reduce_pair(int type, int op, unsigned ranks, const void *const in[], unsigned char *out)
{
    static const struct {
        char value, index; /* f float, d double, h short, i int, l long */
        unsigned at;
    } shape[TUTTI_TYPES] = {
        [TUTTI_TYPE_F32_I32] = {'f', 'i', 4}, [TUTTI_TYPE_F64_I32] = {'d', 'i', 8},
        [TUTTI_TYPE_I64_I32] = {'l', 'i', 8}, [TUTTI_TYPE_I32_I32] = {'i', 'i', 4},
        [TUTTI_TYPE_I16_I32] = {'h', 'i', 4}, [TUTTI_TYPE_F32_F32] = {'f', 'f', 4},
        [TUTTI_TYPE_F64_F64] = {'d', 'd', 8},
    };
    long double value[2], index[2];
    const unsigned char *best = in[0];
    for (unsigned r = 1; r < ranks; r++) {
        const unsigned char *const e[2] = {best, in[r]};
        for (int k = 0; k < 2; k++) {
            const char v = shape[type].value, x = shape[type].index;
            value[k] = v == 'f' || v == 'd' ? load_float(e[k], v == 'f')
                                            : (long double)get_int(e[k],
                                                                   v == 'l'   ? 8
                                                                   : v == 'i' ? 4
                                                                              : 2,
                                                                   1);
            const unsigned char *at = e[k] + shape[type].at;
            index[k] = x == 'i' ? (long double)get_int(at, 4, 1) : load_float(at, x == 'f');
        }
        const int first = order(value[0], value[1], op == TUTTI_OP_MINLOC);
        if (first > 0 || (first == 0 && index[1] < index[0]))
            best = in[r];
    }
    memcpy(out, best, tutti_type_size(type));
    if (shape[type].value == 'f')
        store_single(out, load_float(best, 1));
    if (shape[type].value == 'd')
        store_double(out, load_float(best, 0));
}

void exact_reduce(int type, int op, unsigned ranks, const void *const in[], void *out)
{
    if (ranks == 1)
        memcpy(out, in[0], tutti_type_size(type));
    else if (op == TUTTI_OP_MINLOC || op == TUTTI_OP_MAXLOC)
        reduce_pair(type, op, ranks, in, out);
    else if (type == TUTTI_TYPE_C32 || type == TUTTI_TYPE_C64)
        reduce_complex(type, op, ranks, in, out);
    else if (type == TUTTI_TYPE_F16 || type == TUTTI_TYPE_BF16 || type == TUTTI_TYPE_F32 || type == TUTTI_TYPE_F64)
        reduce_float(type, op, ranks, in, out);
    else
        reduce_int(type, op, ranks, in, out);
}
