#include "support/numbers.h"

#include <math.h>
#include <string.h>

#include "support/oracle.h"

/* ---- half precision, through exact arithmetic in double ---- */

static const struct {
    int mantissa, least, most; /* bits behind the point, exponent of the least and the largest normal number */
} halves[2] = {{10, -14, 15}, {7, -126, 127}};

float oracle_half_to_float(int type, uint16_t bits)
{
    int bf = type == TUTTI_TYPE_BF16, m = halves[bf].mantissa;
    int exponent = (bits & 0x7fff) >> m, fraction = bits & ((1 << m) - 1), top = (0x7fff >> m);
    double value;
    if (exponent == top)
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, halves[bf].least - m);
    else
        value = ldexp(fraction + (1 << m), halves[bf].least - m + exponent - 1);
    return (float)(bits & 0x8000 ? -value : value);
}

uint16_t oracle_half_from_float(int type, float value)
{
    int bf = type == TUTTI_TYPE_BF16, m = halves[bf].mantissa, top = 0x7fff >> m;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return (uint16_t)(sign | top << m | 1 << (m - 1));
    double size = fabs((double)value);
    if (size == 0 || isinf(size))
        return (uint16_t)(sign | (size == 0 ? 0 : top << m));
    int exponent = ilogb(size);
    if (exponent < halves[bf].least)
        exponent = halves[bf].least;
    double units = rint(ldexp(size, m - exponent)); /* to nearest, ties to even: the default rounding */
    double rounded = ldexp(units, exponent - m);
    if (rounded >= ldexp(1, halves[bf].most + 1))
        return (uint16_t)(sign | top << m);
    if (rounded < ldexp(1, halves[bf].least))
        return (uint16_t)(sign | (int)ldexp(rounded, m - halves[bf].least));
    exponent = ilogb(rounded);
    int fraction = (int)ldexp(rounded, m - exponent) - (1 << m);
    return (uint16_t)(sign | (exponent - halves[bf].least + 1) << m | fraction);
}

/* ---- numbers of any width ---- */

uint64_t numbers_load_bits(const void *from, size_t bytes)
{
    uint64_t bits = 0;
    switch (bytes) {
    case 1:
        return *(const unsigned char *)from;
    case 2:
        memcpy(&bits, from, 2);
        return bits;
    case 4:
        memcpy(&bits, from, 4);
        return bits;
    default:
        memcpy(&bits, from, bytes);
        return bits;
    }
}

void numbers_store_bits(void *to, uint64_t bits, size_t bytes)
{
    switch (bytes) {
    case 1:
        memcpy(to, &bits, 1);
        break;
    case 2:
        memcpy(to, &bits, 2);
        break;
    case 4:
        memcpy(to, &bits, 4);
        break;
    default:
        memcpy(to, &bits, bytes);
    }
}

int64_t numbers_load_signed(const void *from, size_t bytes)
{
    unsigned unused = 64 - 8 * (unsigned)bytes;
    return (int64_t)(numbers_load_bits(from, bytes) << unused) >> unused;
}

double numbers_load_float(int type, const void *from, size_t bytes)
{
    float single;
    double value;
    if (bytes == 2)
        return (double)oracle_half_to_float(type, (uint16_t)numbers_load_bits(from, 2));
    if (bytes == 8) {
        memcpy(&value, from, 8);
        return value;
    }
    memcpy(&single, from, 4);
    return (double)single;
}

/* The NaN of a result of two or more contributions: quiet, positive, without payload. */
static void store_nan(int type, void *to, size_t bytes)
{
    uint64_t bits = bytes == 8                ? UINT64_C(0x7ff8000000000000)
                    : bytes == 4              ? 0x7fc00000u
                    : type == TUTTI_TYPE_BF16 ? 0x7fc0u
                                              : 0x7e00u;
    memcpy(to, &bits, bytes);
}

void numbers_store_float(int type, void *to, size_t bytes, double value)
{
    if (isnan(value)) {
        store_nan(type, to, bytes);
        return;
    }
    float single = (float)value;
    uint16_t half;
    if (bytes == 2) {
        half = oracle_half_from_float(type, single);
        memcpy(to, &half, 2);
    } else if (bytes == 4) {
        memcpy(to, &single, 4);
    } else {
        memcpy(to, &value, 8);
    }
}
