#include "support/oracle.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/numbers.h"
#include "support/random.h"

enum class_of { CLASS_INT, CLASS_UINT, CLASS_FLOAT, CLASS_COMPLEX, CLASS_PAIR };
static const struct {
    const char *name;
    size_t bytes;
    enum class_of class_of;
} types[] = {
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_) {name, bytes, CLASS_##class_},
#include "tutti/types.def"
#undef TUTTI_TYPE
};

enum { CINT = 1, FINT = 2, FLOAT = 4, COMPLEX = 8, LOGICAL = 16, BYTE = 32, MULTI = 64, PAIR = 128, CUINT = 256 };
static const struct {
    const char *name;
    int kernel, groups;
} ops[] = {
#define TUTTI_OP(id, name, kernel, signs, groups) {name, kernel, groups},
#include "tutti/ops.def"
#undef TUTTI_OP
};

size_t oracle_size(int type)
{
    return types[type].bytes;
}

const char *oracle_type_name(int type)
{
    return types[type].name;
}

const char *oracle_op_name(int op)
{
    return ops[op].name;
}

int oracle_legal(int op, int group)
{
    return (ops[op].groups & (group == CUINT ? CINT : group)) != 0;
}

int oracle_reduces(int op)
{
    return ops[op].kernel;
}

/* How many numbers an element holds and where: value, index of a pair, imaginary part. */
struct part {
    enum { PART_INT, PART_FLOAT } kind;
    size_t bytes, offset;
};

static int parts_of(int type, struct part out[2])
{
#define ONE(kind_, size) (out[0] = (struct part){kind_, size, 0}, 1)
#define TWO(kind_, size, kind2, size2, at)                                                                             \
    (out[0] = (struct part){kind_, size, 0}, out[1] = (struct part){kind2, size2, at}, 2)
    switch (type) {
    case TUTTI_TYPE_F16:
    case TUTTI_TYPE_BF16:
        return ONE(PART_FLOAT, 2);
    case TUTTI_TYPE_F32:
        return ONE(PART_FLOAT, 4);
    case TUTTI_TYPE_F64:
        return ONE(PART_FLOAT, 8);
    case TUTTI_TYPE_C32:
    case TUTTI_TYPE_F32_F32:
        return TWO(PART_FLOAT, 4, PART_FLOAT, 4, 4);
    case TUTTI_TYPE_C64:
    case TUTTI_TYPE_F64_F64:
        return TWO(PART_FLOAT, 8, PART_FLOAT, 8, 8);
    case TUTTI_TYPE_F32_I32:
        return TWO(PART_FLOAT, 4, PART_INT, 4, offsetof(tutti_f32_i32, index));
    case TUTTI_TYPE_F64_I32:
        return TWO(PART_FLOAT, 8, PART_INT, 4, offsetof(tutti_f64_i32, index));
    case TUTTI_TYPE_I64_I32:
        return TWO(PART_INT, 8, PART_INT, 4, offsetof(tutti_i64_i32, index));
    case TUTTI_TYPE_I32_I32:
        return TWO(PART_INT, 4, PART_INT, 4, offsetof(tutti_i32_i32, index));
    case TUTTI_TYPE_I16_I32:
        return TWO(PART_INT, 2, PART_INT, 4, offsetof(tutti_i16_i32, index));
    default:
        return ONE(PART_INT, types[type].bytes);
    }
}

int oracle_floating(int type)
{
    struct part parts[2];
    parts_of(type, parts);
    return parts[0].kind == PART_FLOAT;
}

/* ---- values ---- */

/* Plain values are such that all MPIs agree on the result: some saturate the sums of unsigned types, or take one
 * signedness for the other in MIN and MAX. */
static uint64_t plain_int(const struct oracle_case *c, size_t bytes, uint64_t random)
{
    int is_unsigned = types[c->type].class_of == CLASS_UINT;
    uint64_t pick = random >> 40;
    switch (c->op) {
    case TUTTI_OP_SUM:
        return is_unsigned ? pick % 10 : pick % 19 - 9;
    case TUTTI_OP_PROD:
        return is_unsigned ? pick % 4 : pick % 7 - 3;
    case TUTTI_OP_MIN:
    case TUTTI_OP_MAX:
        return random & ((UINT64_C(1) << (8 * bytes - 1)) - 1);
    case TUTTI_OP_MINLOC:
    case TUTTI_OP_MAXLOC:
        return pick % 5 - 2; /* ties are the rule */
    default:
        return random;
    }
}

static uint64_t value_int(const struct oracle_case *c, size_t bytes, uint64_t random)
{
    uint64_t top = UINT64_C(1) << (8 * bytes - 1), pick = random >> 40;
    if (c->bools)
        return pick & 1;
    if (c->op == TUTTI_OP_LAND || c->op == TUTTI_OP_LOR || c->op == TUTTI_OP_LXOR)
        return pick & 1 ? 0 : pick & 2 ? random : top; /* top: a truth whose low bits are all zero */
    if (c->mode == ORACLE_PLAIN)
        return plain_int(c, bytes, random);
    if (pick % 3)
        return random;
    const uint64_t edges[] = {top, top - 1, ~UINT64_C(0), 0, 1, top + 1, top >> 1};
    return edges[pick / 3 % (sizeof edges / sizeof *edges)];
}

static double value_float(const struct oracle_case *c, size_t bytes, uint64_t random)
{
    unsigned pick = (unsigned)(random >> 40) & 0xffff;
    if (c->mode == ORACLE_PLAIN) {
        if (c->op == TUTTI_OP_PROD)
            return (pick & 1 ? -0.5 : 0.5) * (double)(1u << (pick >> 1) % 3);
        if (c->op == TUTTI_OP_MINLOC || c->op == TUTTI_OP_MAXLOC)
            return (double)(pick % 5) - 2;
        return (double)(pick % 19) - 9;
    }
    int half = bytes == 2, bf = c->type == TUTTI_TYPE_BF16;
    double least = half ? (bf ? 0x1p-133 : 0x1p-24) : bytes == 4 ? 0x1p-149 : 0x1p-1074;
    double large = half ? (bf ? 0x1.fep127 : 65504.0) : bytes == 4 ? (double)FLT_MAX : DBL_MAX;
    double sign = pick & 1 ? -1 : 1;
    double some = ((double)(random & 0xfffffff) + 1) * 0x1p-28;
    switch (pick >> 1 & 15) {
    case 0:
        return (double)NAN;
    case 1:
        return sign * (double)INFINITY;
    case 2:
    case 3:
        return sign * 0.0;
    case 4:
        return sign * least * (double)(1 + (random & 7)); /* denormal */
    case 5:
        return sign * large;
    case 6:
        return sign * large * some;
    case 7:
        return sign * (half && !bf ? 0x1p12 : 0x1p60);
    case 8:
        return sign;
    case 9:
        return sign * (1 + (half ? 0x1p-7 : bytes == 4 ? 0x1p-23 : 0x1p-52));
    case 10:
        return sign * some * (half && !bf ? 0x1p-10 : 0x1p-100);
    default:
        return sign * some * (double)(1u << (random >> 32 & 7));
    }
}

/* Number of the value of element i. The values of each ORACLE_PERIOD elements are those of the first ones, in steps of
 * another length: shifted by any distance they are other ones. */
static size_t number_of(size_t i)
{
    return i % ORACLE_PERIOD * (i / ORACLE_PERIOD % (ORACLE_PERIOD - 1) + 1) % ORACLE_PERIOD;
}

void oracle_spread(void *out, int type, const void *values, size_t first, size_t count)
{
    const size_t size = oracle_size(type);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)out + i * size, (const char *)values + number_of(first + i) * size, size);
}

static void draw(char *to, const struct oracle_case *c, const struct part *part, uint64_t random, int index)
{
    if (index && part->kind == PART_FLOAT) {
        numbers_store_float(c->type, to, part->bytes, (double)(random % 1000));
    } else if (index) {
        int32_t place = (int32_t)(random % 1000) - 100;
        memcpy(to, &place, 4);
    } else if (part->kind == PART_FLOAT) {
        numbers_store_float(c->type, to, part->bytes, value_float(c, part->bytes, random));
        if (c->mode == ORACLE_HARD && (random >> 41 & 15) == 0) { /* a NaN: with sign and payload */
            char *last = to + part->bytes - 1;
            *last = (char)(*last ^ (random & 0x80));
            to[0] = (char)(random >> 8);
        }
    } else {
        numbers_store_bits(to, value_int(c, part->bytes, random), part->bytes);
    }
}

void oracle_fill(void *out, const struct oracle_case *c, int rank, size_t first, size_t count)
{
    struct part parts[2];
    const int n = parts_of(c->type, parts);
    const size_t size = oracle_size(c->type);
    const uint64_t base = random_mix(c->seed ^ random_mix((uint64_t)rank + 1));
    const int padded = parts[0].bytes + (n == 2 ? parts[1].bytes : 0) < size;
    char *const values = count > ORACLE_PERIOD ? malloc(ORACLE_PERIOD * size) : NULL;
    char *to = out;
    if (values) {
        oracle_fill(values, c, rank, 0, ORACLE_PERIOD);
        oracle_spread(out, c->type, values, first, count);
        free(values);
        return;
    }
    for (size_t i = 0; i < count; i++, to += size) {
        if (padded)
            memset(to, rank + 1, size); /* padding tells whose it was */
        for (int p = 0; p < n; p++)
            draw(to + parts[p].offset, c, &parts[p], random_mix(base + number_of(first + i) * 2 + (uint64_t)p),
                 types[c->type].class_of == CLASS_PAIR && p == 1);
    }
}

/* ---- the reduction ---- */

static uint64_t combine_int(int op, int is_signed, uint64_t a, uint64_t b)
{
    int less = is_signed ? (int64_t)b < (int64_t)a : b < a;
    int more = is_signed ? (int64_t)b > (int64_t)a : b > a;
    switch (op) {
    case TUTTI_OP_SUM:
        return a + b;
    case TUTTI_OP_PROD:
        return a * b;
    case TUTTI_OP_MIN:
        return less ? b : a;
    case TUTTI_OP_MAX:
        return more ? b : a;
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

static double combine_float(int op, size_t bytes, double a, double b)
{
    float fa = (float)a, fb = (float)b; /* exact where the numbers are narrower than a double */
    switch (op) {
    case TUTTI_OP_SUM:
        return bytes == 8 ? a + b : (double)(fa + fb);
    case TUTTI_OP_PROD:
        return bytes == 8 ? a * b : (double)(fa * fb);
    case TUTTI_OP_MIN:
        return isnan(b) || b < a ? b : a; /* a NaN stays: nothing is less */
    default:
        return isnan(b) || b > a ? b : a;
    }
}

static void combine_complex(int op, size_t bytes, double a[2], const double b[2])
{
    double re, im;
    if (op == TUTTI_OP_SUM) {
        re = combine_float(op, bytes, a[0], b[0]);
        im = combine_float(op, bytes, a[1], b[1]);
    } else if (bytes == 8) {
        double p = a[0] * b[0], q = a[1] * b[1], r = a[0] * b[1], s = a[1] * b[0];
        re = p - q;
        im = r + s;
    } else {
        float p = (float)a[0] * (float)b[0], q = (float)a[1] * (float)b[1];
        float r = (float)a[0] * (float)b[1], s = (float)a[1] * (float)b[0];
        re = (double)(p - q);
        im = (double)(r + s);
    }
    a[0] = re;
    a[1] = im;
}

/* MINLOC and MAXLOC: 1 if contribution b replaces a. NaN wins over numbers; then the lower index, then the lower
 * rank. */
static int replaces(const struct oracle_case *c, const struct part *parts, const char *a, const char *b)
{
    int less, more, before;
    if (parts[0].kind == PART_FLOAT) {
        double x = numbers_load_float(c->type, a, parts[0].bytes), y = numbers_load_float(c->type, b, parts[0].bytes);
        if (isnan(x) != isnan(y))
            return isnan(y);
        less = y < x;
        more = y > x;
    } else {
        int64_t x = numbers_load_signed(a, parts[0].bytes), y = numbers_load_signed(b, parts[0].bytes);
        less = y < x;
        more = y > x;
    }
    if (parts[1].kind == PART_FLOAT)
        before = numbers_load_float(c->type, b + parts[1].offset, parts[1].bytes) <
                 numbers_load_float(c->type, a + parts[1].offset, parts[1].bytes);
    else
        before = numbers_load_signed(b + parts[1].offset, 4) < numbers_load_signed(a + parts[1].offset, 4);
    if (less || more)
        return c->op == TUTTI_OP_MINLOC ? less : more;
    return before;
}

void oracle_reduce(void *out, const struct oracle_case *c, int ranks, const void *const in[], size_t count)
{
    struct part parts[2];
    parts_of(c->type, parts);
    size_t size = oracle_size(c->type);
    enum class_of class_of = types[c->type].class_of;
    for (size_t i = 0; i < count; i++) {
        char *to = (char *)out + i * size;
        const char *first = (const char *)in[0] + i * size;
        if (ranks == 1) {
            memmove(to, first, size);
            continue;
        }
        if (class_of == CLASS_PAIR) {
            const char *best = first;
            for (int r = 1; r < ranks; r++) {
                const char *next = (const char *)in[r] + i * size;
                if (replaces(c, parts, best, next))
                    best = next;
            }
            memmove(to, best, size);
            if (parts[0].kind == PART_FLOAT && isnan(numbers_load_float(c->type, to, parts[0].bytes)))
                numbers_store_float(c->type, to, parts[0].bytes, (double)NAN);
        } else if (class_of == CLASS_COMPLEX) {
            size_t b = parts[0].bytes;
            double sum[2] = {numbers_load_float(c->type, first, b), numbers_load_float(c->type, first + b, b)};
            for (int r = 1; r < ranks; r++) {
                const char *next = (const char *)in[r] + i * size;
                combine_complex(
                    c->op, b, sum,
                    (double[]){numbers_load_float(c->type, next, b), numbers_load_float(c->type, next + b, b)});
            }
            numbers_store_float(c->type, to, b, sum[0]);
            numbers_store_float(c->type, to + b, b, sum[1]);
        } else if (class_of == CLASS_FLOAT) {
            double sum = numbers_load_float(c->type, first, size);
            for (int r = 1; r < ranks; r++)
                sum =
                    combine_float(c->op, size, sum, numbers_load_float(c->type, (const char *)in[r] + i * size, size));
            numbers_store_float(c->type, to, size, sum);
        } else {
            int is_signed = class_of == CLASS_INT;
            uint64_t sum = is_signed ? (uint64_t)numbers_load_signed(first, size) : numbers_load_bits(first, size);
            for (int r = 1; r < ranks; r++) {
                const char *next = (const char *)in[r] + i * size;
                uint64_t value = is_signed ? (uint64_t)numbers_load_signed(next, size) : numbers_load_bits(next, size);
                sum = combine_int(c->op, is_signed, sum, value);
                if (size < 8) /* wraps to the width of the type */
                    sum = is_signed ? (uint64_t)numbers_load_signed(&sum, size) : numbers_load_bits(&sum, size);
            }
            memcpy(to, &sum, size);
        }
    }
}

/* ---- comparison ---- */

size_t oracle_differ(int type, const void *a, const void *b, size_t count, enum oracle_loose loose)
{
    struct part parts[2];
    int n = parts_of(type, parts);
    size_t size = oracle_size(type);
    if (memcmp(a, b, count * size) == 0)
        return count;
    for (size_t i = 0; i < count; i++) {
        const char *x = (const char *)a + i * size, *y = (const char *)b + i * size;
        if (loose == ORACLE_BITS && memcmp(x, y, size) != 0)
            return i;
        for (int p = 0; p < n; p++) {
            size_t at = parts[p].offset, bytes = parts[p].bytes;
            if (memcmp(x + at, y + at, bytes) == 0)
                continue;
            if (parts[p].kind == PART_INT)
                return i;
            double u = numbers_load_float(type, x + at, bytes), v = numbers_load_float(type, y + at, bytes);
            if (!(isnan(u) && isnan(v)) && (u != v || loose == ORACLE_NANS))
                return i;
        }
    }
    return count;
}

uint64_t oracle_digest(uint64_t digest, int type, const void *data, size_t count)
{
    const char *at = data;
    size_t bytes = count * oracle_size(type);
    for (; bytes >= 8; bytes -= 8, at += 8)
        digest = random_mix(digest ^ numbers_load_bits(at, 8));
    return random_mix(digest ^ numbers_load_bits(at, bytes));
}

void oracle_text(char *text, size_t size, int type, const void *element)
{
    struct part parts[2];
    int n = parts_of(type, parts);
    size_t at = 0;
    text[0] = '\0';
    for (int p = 0; p < n && at < size; p++) {
        const char *from = (const char *)element + parts[p].offset;
        unsigned long long bits = numbers_load_bits(from, parts[p].bytes);
        if (parts[p].kind == PART_FLOAT)
            at += (size_t)snprintf(text + at, size - at, "%s%g [%llx]", p ? ", " : "",
                                   numbers_load_float(type, from, parts[p].bytes), bits);
        else
            at += (size_t)snprintf(text + at, size - at, "%s%lld", p ? ", " : "",
                                   types[type].class_of == CLASS_UINT
                                       ? (long long)bits
                                       : (long long)numbers_load_signed(from, parts[p].bytes));
    }
}
