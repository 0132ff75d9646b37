/* Elements, operators and layouts of the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

const char *const model_element_names[] = {
#define X(name, mpi, c) #mpi,
    MODEL_INTEGERS(X) MODEL_FLOATS(X)
#undef X
        "MPI_BYTE",
    "MPI_2INT"};
const char *const model_operator_names[] = {
#define X(name) "MPI_" #name,
    MODEL_OPERATORS(X)
#undef X
};
const size_t model_sizes[] = {
#define X(name, mpi, c) sizeof(c),
    MODEL_INTEGERS(X) MODEL_FLOATS(X)
#undef X
        1,
    2 * sizeof(int)};

MPI_Datatype model_mpi_element(enum model_element element)
{
    switch (element) {
#define X(name, mpi, c)                                                                                                \
    case MODEL_##name:                                                                                                 \
        return mpi;
        MODEL_INTEGERS(X)
        MODEL_FLOATS(X)
#undef X
    case MODEL_2INT:
        return MPI_2INT;
    default:
        return MPI_BYTE;
    }
}

MPI_Op model_mpi_operator(enum model_operator op)
{
    switch (op) {
#define X(name)                                                                                                        \
    case MODEL_##name:                                                                                                 \
        return MPI_##name;
        MODEL_OPERATORS(X)
#undef X
    default:
        return MPI_OP_NULL;
    }
}

int model_legal(enum model_element element, enum model_operator op)
{
    static const int sums = 1 << MODEL_SUM | 1 << MODEL_PROD | 1 << MODEL_MIN | 1 << MODEL_MAX,
                     bits = 1 << MODEL_BAND | 1 << MODEL_BOR | 1 << MODEL_BXOR,
                     bools = 1 << MODEL_LAND | 1 << MODEL_LOR | 1 << MODEL_LXOR;
    const int legal = element == MODEL_BYTE                          ? bits
                      : element == MODEL_2INT                        ? 1 << MODEL_MINLOC | 1 << MODEL_MAXLOC
                      : element == MODEL_F32 || element == MODEL_F64 ? sums
                                                                     : sums | bits | bools;
    return op == MODEL_NO_OP || op == MODEL_REPLACE || (legal >> op & 1);
}

int model_exact(enum model_element element, enum model_operator op)
{
    if (op == MODEL_NO_OP || op == MODEL_REPLACE)
        return 1;
    if (element == MODEL_F32 || element == MODEL_F64)
        return 0;
    return (op != MODEL_SUM && op != MODEL_PROD) || model_sizes[element] >= sizeof(int);
}

/* Integers by their bits, so that sums wrap; sums of small ones that Open MPI 4.1 saturates are not determined. */
#define INTEGER(name, mpi, c)                                                                                          \
    static int combine_##name(enum model_operator op, const void *from, void *to)                                      \
    {                                                                                                                  \
        c a, b;                                                                                                        \
        memcpy(&a, from, sizeof a);                                                                                    \
        memcpy(&b, to, sizeof b);                                                                                      \
        switch (op) {                                                                                                  \
        case MODEL_SUM:                                                                                                \
            if (sizeof b < sizeof(int) && (int64_t)a + (int64_t)b != (c)((int64_t)a + (int64_t)b))                     \
                return 0;                                                                                              \
            b = (c)((uint64_t)a + (uint64_t)b);                                                                        \
            break;                                                                                                     \
        case MODEL_PROD:                                                                                               \
            if (sizeof b < sizeof(int) && (int64_t)a * (int64_t)b != (c)((int64_t)a * (int64_t)b))                     \
                return 0;                                                                                              \
            b = (c)((uint64_t)a * (uint64_t)b);                                                                        \
            break;                                                                                                     \
        case MODEL_MIN:                                                                                                \
            b = a < b ? a : b;                                                                                         \
            break;                                                                                                     \
        case MODEL_MAX:                                                                                                \
            b = a > b ? a : b;                                                                                         \
            break;                                                                                                     \
        case MODEL_BAND:                                                                                               \
            b = (c)(a & b);                                                                                            \
            break;                                                                                                     \
        case MODEL_BOR:                                                                                                \
            b = (c)(a | b);                                                                                            \
            break;                                                                                                     \
        case MODEL_BXOR:                                                                                               \
            b = (c)(a ^ b);                                                                                            \
            break;                                                                                                     \
        case MODEL_LAND:                                                                                               \
            b = (c)(a && b);                                                                                           \
            break;                                                                                                     \
        case MODEL_LOR:                                                                                                \
            b = (c)(a || b);                                                                                           \
            break;                                                                                                     \
        case MODEL_LXOR:                                                                                               \
            b = (c)(!a != !b);                                                                                         \
            break;                                                                                                     \
        default:                                                                                                       \
            return 0;                                                                                                  \
        }                                                                                                              \
        memcpy(to, &b, sizeof b);                                                                                      \
        return 1;                                                                                                      \
    }
MODEL_INTEGERS(INTEGER)
INTEGER(BYTE, MPI_BYTE, uint8_t)

/* MIN and MAX of equal values of other bits (zeros) are not determined, nor are the bits of a NaN. */
#define FLOATING(name, mpi, c)                                                                                         \
    static int combine_##name(enum model_operator op, const void *from, void *to)                                      \
    {                                                                                                                  \
        c a, b, r;                                                                                                     \
        memcpy(&a, from, sizeof a);                                                                                    \
        memcpy(&b, to, sizeof b);                                                                                      \
        if (!isfinite(a) || !isfinite(b) || (a == b && memcmp(&a, &b, sizeof a) != 0))                                 \
            return 0;                                                                                                  \
        r = op == MODEL_SUM ? a + b : op == MODEL_PROD ? a * b : (op == MODEL_MIN) == (a < b) ? a : b;                 \
        if (!isfinite(r))                                                                                              \
            return 0;                                                                                                  \
        memcpy(to, &r, sizeof r);                                                                                      \
        return 1;                                                                                                      \
    }
MODEL_FLOATS(FLOATING)

static int combine_2INT(enum model_operator op, const void *from, void *to)
{
    int a[2], b[2];
    memcpy(a, from, sizeof a);
    memcpy(b, to, sizeof b);
    const int first = a[0] == b[0] ? a[1] < b[1] : (op == MODEL_MINLOC) == (a[0] < b[0]);
    memcpy(to, first ? a : b, sizeof b);
    return 1;
}

int model_combine(enum model_element element, enum model_operator op, const void *from, void *to)
{
    if (op == MODEL_NO_OP)
        return 1;
    if (op == MODEL_REPLACE) {
        memcpy(to, from, model_sizes[element]);
        return 1;
    }
    switch (element) {
#define X(name, mpi, c)                                                                                                \
    case MODEL_##name:                                                                                                 \
        return combine_##name(op, from, to);
        MODEL_INTEGERS(X)
        MODEL_FLOATS(X)
#undef X
    case MODEL_BYTE:
        return combine_BYTE(op, from, to);
    case MODEL_2INT:
        return combine_2INT(op, from, to);
    default:
        return 0;
    }
}

/* ---- layouts ---- */

static int dice(uint64_t *state, int n)
{
    return (int)(random_next(state) % (uint64_t)n);
}

/* The runs of a family: gaps between them, of an indexed one in any order and at any place, also before the address. */
static void runs_draw(struct model_layout *l, uint64_t *state, long size, int aligned)
{
    const int equal = l->family == MODEL_VECTOR || l->family == MODEL_HVECTOR,
              bytes = !aligned && (l->family == MODEL_HVECTOR || l->family == MODEL_STRUCT), len = 1 + dice(state, 4);
    const long gap = bytes ? dice(state, 11) : size * dice(state, 4);
    long at = equal ? 0 : size * (dice(state, 7) - 3);
    l->runs = 1 + dice(state, equal ? MODEL_RUNS : 4);
    for (int r = 0; r < l->runs; r++) {
        l->len[r] = equal ? len : 1 + dice(state, 4);
        l->disp[r] = at;
        at += l->len[r] * size + (equal ? gap : bytes ? dice(state, 9) : size * dice(state, 3));
        l->k += l->len[r];
    }
    for (int r = l->runs - 1; r > 0 && !equal; r--) { /* in any order, each with its length */
        const int other = dice(state, r + 1), its = l->len[r];
        const long place = l->disp[r];
        l->disp[r] = l->disp[other];
        l->len[r] = l->len[other];
        l->disp[other] = place;
        l->len[other] = its;
    }
}

void model_layout_draw(struct model_layout *l, uint64_t *state, enum model_element element, int n, int plain,
                       int aligned)
{
    const long size = (long)model_sizes[element];
    *l = (struct model_layout){
        .element = element, .n = n, .family = plain ? MODEL_NAMED : (enum model_family)dice(state, MODEL_FAMILIES)};
    if (l->family == MODEL_NAMED || l->family == MODEL_CONTIGUOUS) {
        l->k = l->len[0] = l->family == MODEL_NAMED || n == 0 ? 1 : n % 3 == 0 ? 3 : n % 2 == 0 ? n / 2 : n;
        l->runs = 1;
    } else {
        for (int tries = 0; tries < 20 && (l->k == 0 || n % l->k != 0); tries++) {
            l->k = 0;
            runs_draw(l, state, size, aligned);
        }
    }
    if (n % l->k != 0) { /* none has been found that divides n */
        l->family = MODEL_NAMED;
        l->k = l->len[0] = l->runs = 1;
        l->disp[0] = 0;
    }
    long low = l->disp[0], high = low;
    for (int r = 0; r < l->runs; r++) {
        low = l->disp[r] < low ? l->disp[r] : low;
        high = l->disp[r] + l->len[r] * size > high ? l->disp[r] + l->len[r] * size : high;
    }
    l->count = n / l->k;
    l->extent = high - low;
    if (l->family != MODEL_NAMED && l->family != MODEL_CONTIGUOUS)
        l->extent = (l->extent + size - 1) / size * size + size * dice(state, 3);
    l->low = n == 0 ? 0 : low;
    l->high = n == 0 ? 0 : high + (l->count - 1) * l->extent;
}

long model_layout_at(const struct model_layout *l, int i)
{
    const long start = (long)(i / l->k) * l->extent;
    int left = i % l->k, r = 0;
    while (left >= l->len[r])
        left -= l->len[r++];
    return start + l->disp[r] + left * (long)model_sizes[l->element];
}

MPI_Datatype model_layout_type(const struct model_layout *l)
{
    const MPI_Datatype basic = model_mpi_element(l->element);
    const long size = (long)model_sizes[l->element];
    const long stride = l->runs > 1 ? l->disp[1] - l->disp[0] : l->len[0] * size;
    MPI_Datatype made, type, basics[MODEL_RUNS];
    MPI_Aint places[MODEL_RUNS];
    int elements[MODEL_RUNS];
    for (int r = 0; r < l->runs; r++) {
        basics[r] = basic;
        places[r] = l->disp[r];
        elements[r] = (int)(l->disp[r] / size);
    }
    switch (l->family) {
    case MODEL_CONTIGUOUS:
        MPI_Type_contiguous(l->k, basic, &made);
        break;
    case MODEL_VECTOR:
        MPI_Type_vector(l->runs, l->len[0], (int)(stride / size), basic, &made);
        break;
    case MODEL_HVECTOR:
        MPI_Type_create_hvector(l->runs, l->len[0], stride, basic, &made);
        break;
    case MODEL_INDEXED:
        MPI_Type_indexed(l->runs, l->len, elements, basic, &made);
        break;
    case MODEL_STRUCT:
        MPI_Type_create_struct(l->runs, l->len, places, basics, &made);
        break;
    default:
        return basic;
    }
    MPI_Type_create_resized(made, 0, l->extent, &type);
    MPI_Type_free(&made);
    MPI_Type_commit(&type);
    return type;
}

void model_layout_free(const struct model_layout *l, MPI_Datatype *type)
{
    if (l->family != MODEL_NAMED && *type != MPI_DATATYPE_NULL)
        MPI_Type_free(type);
}
