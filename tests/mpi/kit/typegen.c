#include "typegen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real_mpi.h"
#include "support/random.h"

enum { PARTS = 5, TEXT = 400 };

struct made {
    MPI_Datatype type;
    MPI_Count size, lower, extent, true_lower, true_extent;
    char text[TEXT];
};

struct maker {
    uint64_t *state;
    MPI_Count most;
    int tame;
};

static int below(const struct maker *m, int n)
{
    return (int)(random_next(m->state) % (uint64_t)n);
}

static void measure(struct made *t)
{
    MPI_Type_size_x(t->type, &t->size);
    MPI_Type_get_extent_x(t->type, &t->lower, &t->extent);
    MPI_Type_get_true_extent_x(t->type, &t->true_lower, &t->true_extent);
}

static void base(const struct maker *m, struct made *out)
{
    /* Not long double: of its bytes an MPI may copy those with a meaning alone. */
    static const char *const names[] = {"CHAR",      "SHORT",      "INT",       "DOUBLE", "BYTE",      "2INT",
                                        "FLOAT_INT", "DOUBLE_INT", "SHORT_INT", "FLOAT",  "LONG_LONG", "F90_REAL(12)"};
    const MPI_Datatype types[] = {MPI_CHAR,      MPI_SHORT,      MPI_INT,       MPI_DOUBLE, MPI_BYTE,         MPI_2INT,
                                  MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_FLOAT,  MPI_LONG_LONG_INT};
    int n = (int)(sizeof names / sizeof names[0]), i = below(m, n);
    if (i == n - 1) {
        if (MPI_Type_create_f90_real(12, MPI_UNDEFINED, &out->type) != MPI_SUCCESS)
            i = 3;
    }
    if (i < n - 1)
        out->type = types[i];
    snprintf(out->text, sizeof out->text, "%s", names[i]);
    measure(out);
}

static int is_derived(MPI_Datatype type)
{
    int combiner;
#if MPI_VERSION >= 4 /* the plain form refuses types of large counts */
    MPI_Count a, b, c, d;
    MPI_Type_get_envelope_c(type, &a, &b, &c, &d, &combiner);
#else
    int a, b, c;
    MPI_Type_get_envelope(type, &a, &b, &c, &combiner);
#endif
    return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL;
}

static void drop(struct made *t)
{
    if (is_derived(t->type))
        MPI_Type_free(&t->type);
}

/* Places of n blocks of lengths[i] things: upwards with gaps, or anywhere. */
static void places(const struct maker *m, int n, const int *lengths, int64_t *out)
{
    int64_t at = below(m, 3);
    for (int i = 0; i < n; i++) {
        out[i] = at;
        at += lengths[i] + below(m, 3);
        if (!m->tame && below(m, 8) == 0)
            out[i] = below(m, 30) - 10;
    }
    if (m->tame || below(m, 4))
        return;
    for (int i = n - 1; i > 0; i--) { /* in another order */
        int k = below(m, i + 1);
        int64_t other = out[i];
        if (lengths[i] != lengths[k])
            continue;
        out[i] = out[k];
        out[k] = other;
    }
}

static MPI_Count positive(MPI_Count a, MPI_Count b)
{
    MPI_Count most = a > b ? a : b;
    return most > 0 ? most : 1;
}

static void array(const struct maker *m, int darray, const struct made *child, struct made *out)
{
    int dims = 1 + below(m, 4), order = below(m, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, error;
    int sizes[4], subsizes[4], starts[4], kinds[4], args[4], grid[4], ranks = 1;
    for (int i = 0; i < dims; i++) {
        sizes[i] = 1 + below(m, 5);
        subsizes[i] = 1 + below(m, sizes[i]);
        starts[i] = below(m, sizes[i] - subsizes[i] + 1);
        grid[i] = 1 + below(m, 3);
        int kind = below(m, 3);
        kinds[i] = kind == 0 ? MPI_DISTRIBUTE_BLOCK : kind == 1 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_NONE;
        if (kind == 2)
            grid[i] = 1;
        args[i] = MPI_DISTRIBUTE_DFLT_DARG;
        if (kind == 0 && below(m, 2))
            args[i] = (sizes[i] + grid[i] - 1) / grid[i] + below(m, 2);
        if (kind == 1 && below(m, 2))
            args[i] = 1 + below(m, 3);
        ranks *= grid[i];
    }
    int rank = below(m, ranks);
    if (darray)
        error = MPI_Type_create_darray(ranks, rank, dims, sizes, kinds, args, grid, order, child->type, &out->type);
    else
        error = MPI_Type_create_subarray(dims, sizes, subsizes, starts, order, child->type, &out->type);
    if (error != MPI_SUCCESS)
        out->type = MPI_DATATYPE_NULL;
    int used = snprintf(out->text, TEXT, darray ? "darray(%d of %d," : "subarray(", rank, ranks);
    for (int i = 0; i < dims && used < TEXT / 2; i++)
        used += darray ? snprintf(out->text + used, TEXT - (size_t)used, "%d:%d/%d/%d,", sizes[i], kinds[i], args[i],
                                  grid[i])
                       : snprintf(out->text + used, TEXT - (size_t)used, "%d:%d+%d,", sizes[i], starts[i], subsizes[i]);
    snprintf(out->text + used, TEXT - (size_t)used, "%s)", order == MPI_ORDER_C ? "C" : "F");
}

/* `large`: the form with large counts, where the MPI has it. */
static void of_one(const struct maker *m, enum typegen_maker maker, const struct made *child, struct made *out,
                   int large)
{
    int n = 1 + below(m, PARTS), length = 1 + below(m, 4), lengths[PARTS], small[PARTS];
    int64_t at[PARTS];
    MPI_Count step = positive(child->extent, child->true_extent), stride = length + below(m, 3);
    MPI_Aint bytes[PARTS];
    for (int i = 0; i < PARTS; i++)
        lengths[i] = maker == TYPEGEN_INDEXED || maker == TYPEGEN_HINDEXED ? below(m, 4) : length;
    places(m, n, lengths, at);
    for (int i = 0; i < PARTS; i++) {
        small[i] = i < n ? (int)at[i] : 0;
        bytes[i] = i < n ? (MPI_Aint)(at[i] * step + (below(m, 3) ? 0 : below(m, 2) * (int)at[i])) : 0;
    }
    if (m->tame) {
        for (int i = 0; i < n; i++)
            bytes[i] = (MPI_Aint)(at[i] * step);
    }
    if (!m->tame && below(m, 6) == 0)
        stride = -stride;
    MPI_Aint bytes_stride = (MPI_Aint)(stride * step + (m->tame ? 0 : below(m, 2)));
#ifdef OPEN_MPI /* 4.1 and 5.0 take a stride of minus one byte for one of plus one, and write beside the type */
    if ((maker == TYPEGEN_VECTOR && stride * child->extent == -1) || (maker == TYPEGEN_HVECTOR && bytes_stride == -1)) {
        stride = -stride;
        bytes_stride = -bytes_stride;
    }
#endif
    MPI_Aint lower = (MPI_Aint)child->lower, extent = (MPI_Aint)child->extent;
    if (m->tame) {
        lower = 0;
        extent = (MPI_Aint)(positive(child->true_lower + child->true_extent, child->extent) + below(m, 9));
    } else {
        lower += below(m, 9) - 4;
        extent += below(m, 21) - 4;
    }
#if MPI_VERSION >= 4
    MPI_Count lengths_c[PARTS], at_c[PARTS], bytes_c[PARTS];
    for (int i = 0; i < PARTS; i++) {
        lengths_c[i] = lengths[i];
        at_c[i] = small[i];
        bytes_c[i] = bytes[i];
    }
#define EITHER(name, plain, counted) (large ? name##_c counted : name plain)
#else
    large = 0;
#define EITHER(name, plain, counted) (name plain)
#endif
    MPI_Datatype from = child->type, *to = &out->type;
    int error = MPI_SUCCESS, used = snprintf(out->text, TEXT, large ? "large " : "%s", "");
    char *text = out->text + used;
    size_t room = TEXT - (size_t)used;
    switch (maker) {
    case TYPEGEN_DUP:
        error = MPI_Type_dup(from, to);
        snprintf(text, room, "dup");
        break;
    case TYPEGEN_CONTIGUOUS:
        error = EITHER(MPI_Type_contiguous, (n, from, to), (n, from, to));
        snprintf(text, room, "contiguous(%d)", n);
        break;
    case TYPEGEN_VECTOR:
        error = EITHER(MPI_Type_vector, (n, length, (int)stride, from, to), (n, length, stride, from, to));
        snprintf(text, room, "vector(%d,%d,%d)", n, length, (int)stride);
        break;
    case TYPEGEN_HVECTOR:
        error =
            EITHER(MPI_Type_create_hvector, (n, length, bytes_stride, from, to), (n, length, bytes_stride, from, to));
        snprintf(text, room, "hvector(%d,%d,%ld)", n, length, (long)bytes_stride);
        break;
    case TYPEGEN_INDEXED:
        error = EITHER(MPI_Type_indexed, (n, lengths, small, from, to), (n, lengths_c, at_c, from, to));
        break;
    case TYPEGEN_HINDEXED:
        error = EITHER(MPI_Type_create_hindexed, (n, lengths, bytes, from, to), (n, lengths_c, bytes_c, from, to));
        break;
    case TYPEGEN_INDEXED_BLOCK:
        error = EITHER(MPI_Type_create_indexed_block, (n, length, small, from, to), (n, length, at_c, from, to));
        break;
    case TYPEGEN_HINDEXED_BLOCK:
        error = EITHER(MPI_Type_create_hindexed_block, (n, length, bytes, from, to), (n, length, bytes_c, from, to));
        break;
    default:
        error = EITHER(MPI_Type_create_resized, (from, lower, extent, to), (from, lower, extent, to));
        snprintf(text, room, "resized(%ld,%ld)", (long)lower, (long)extent);
    }
    if (maker >= TYPEGEN_INDEXED && maker <= TYPEGEN_HINDEXED_BLOCK) {
        static const char *const names[] = {"indexed", "hindexed", "indexed_block", "hindexed_block"};
        int in_bytes = maker == TYPEGEN_HINDEXED || maker == TYPEGEN_HINDEXED_BLOCK;
        size_t end = (size_t)snprintf(text, room, "%s(", names[maker - TYPEGEN_INDEXED]);
        for (int i = 0; i < n && end < room; i++)
            end += (size_t)snprintf(text + end, room - end, "%d@%ld%s", lengths[i],
                                    in_bytes ? (long)bytes[i] : (long)small[i], i < n - 1 ? "," : ")");
    }
    if (error != MPI_SUCCESS)
        out->type = MPI_DATATYPE_NULL;
}

static void make(const struct maker *m, int depth, struct made *out);

static void structure(const struct maker *m, int depth, struct made *out)
{
    struct made part[3];
    int n = 1 + below(m, 3), lengths[3];
    MPI_Aint at[3], next = below(m, 9);
    MPI_Datatype types[3];
    size_t used = (size_t)snprintf(out->text, TEXT, "struct(");
    for (int i = 0; i < n; i++) {
        make(m, depth - 1, &part[i]);
        lengths[i] = below(m, 4);
        MPI_Count reach = positive(part[i].extent, part[i].true_lower + part[i].true_extent);
        at[i] = next;
        if (!m->tame && below(m, 6) == 0)
            at[i] = below(m, 100) - 50;
        next += (MPI_Aint)((lengths[i] + (lengths[i] == 0)) * reach + below(m, 9));
        types[i] = part[i].type;
        used += (size_t)snprintf(out->text + used, used < TEXT ? TEXT - used : 0, "%d@%ld:%.100s%s", lengths[i],
                                 (long)at[i], part[i].text, i < n - 1 ? ", " : ")");
        used = used < TEXT ? used : TEXT;
    }
    if (MPI_Type_create_struct(n, lengths, at, types, &out->type) != MPI_SUCCESS)
        out->type = MPI_DATATYPE_NULL;
    for (int i = 0; i < n; i++)
        drop(&part[i]);
}

static int fits(const struct maker *m, const struct made *t)
{
    return t->size <= m->most && t->true_extent <= 16 * m->most && t->extent <= 16 * m->most &&
           t->extent >= -16 * m->most && t->true_lower <= 16 * m->most && t->true_lower >= -16 * m->most &&
           (!m->tame || (t->true_lower >= 0 && t->lower >= 0 && t->extent >= t->true_lower + t->true_extent));
}

static void make(const struct maker *m, int depth, struct made *out)
{
    struct made child;
    if (depth == 0) {
        base(m, out);
        return;
    }
    make(m, depth - 1 - (below(m, 4) == 0 && depth > 1), &child);
    for (int tries = 0; tries < 20; tries++) {
        enum typegen_maker maker = (enum typegen_maker)below(m, TYPEGEN_MAKERS);
        if (maker == TYPEGEN_STRUCT)
            structure(m, depth, out);
        else if (maker == TYPEGEN_SUBARRAY || maker == TYPEGEN_DARRAY)
            array(m, maker == TYPEGEN_DARRAY, &child, out);
        else
            of_one(m, maker, &child, out, below(m, 3) == 0);
        if (out->type == MPI_DATATYPE_NULL)
            continue;
        measure(out);
        if (!fits(m, out)) {
            MPI_Type_free(&out->type);
            continue;
        }
        if (maker != TYPEGEN_STRUCT) {
            size_t used = strlen(out->text);
            snprintf(out->text + used, TEXT - used, " of %.*s", (int)(TEXT - used - 8), child.text);
        }
        drop(&child);
        return;
    }
    *out = child;
}

/* 1 if the MPI itself moves two elements as it moves one after the other, and stays within their bounds. Open
 * MPI 4.1 takes some types with parts of no bytes for contiguous, and writes their gaps, or beside them. */
static int sane(const struct typegen *t)
{
    MPI_Count lowest;
    size_t span = typegen_span(t, 2, &lowest), bytes = (size_t)t->size, round = span + 2 * bytes + 4096;
    size_t all = span + 2 * round;
    unsigned char *from = malloc(all), *one = malloc(2 * bytes + round), *two = malloc(2 * bytes + round);
    unsigned char *apart = calloc(all, 1), *whole = calloc(all, 1);
    for (size_t i = 0; i < all; i++)
        from[i] = (unsigned char)(random_mix(i) | 1);
    lowest -= (MPI_Count)round;
    typegen_pack(t, 2, from - lowest, two, 2 * bytes);
    for (int e = 0; e < 2 && bytes > 0; e++) {
        typegen_pack(t, 1, from - lowest + e * t->extent, one + (size_t)e * bytes, bytes);
        typegen_unpack(t, 1, apart - lowest + e * t->extent, two + (size_t)e * bytes, bytes);
    }
    typegen_unpack(t, 2, whole - lowest, two, 2 * bytes);
    int fine = bytes == 0 || (memcmp(one, two, 2 * bytes) == 0 && memcmp(apart, whole, all) == 0);
    for (size_t i = 0; i < round; i++)
        fine &= whole[i] == 0 && whole[all - 1 - i] == 0;
    free(from);
    free(one);
    free(two);
    free(apart);
    free(whole);
    return fine;
}

void typegen_make(struct typegen *out, uint64_t *state, int depth, MPI_Count most, int tame)
{
    const struct maker m = {state, most, tame};
    struct made made;
    for (;;) {
        do
            make(&m, depth, &made);
        while (!is_derived(made.type));
        MPI_Type_commit(&made.type);
        *out = (struct typegen){made.type, made.size, made.lower, made.extent, made.true_lower, made.true_extent, ""};
        snprintf(out->text, sizeof out->text, "%s", made.text);
        if (sane(out))
            return;
        typegen_free(out);
    }
}

void typegen_free(struct typegen *of)
{
    MPI_Type_free(&of->type);
}

size_t typegen_span(const struct typegen *of, MPI_Count count, MPI_Count *lowest)
{
    *lowest = of->true_lower;
    if (count <= 0 || of->size == 0)
        return 0;
    MPI_Count reach = (count - 1) * of->extent;
    if (reach < 0)
        *lowest += reach;
    return (size_t)((reach < 0 ? -reach : reach) + of->true_extent);
}

typedef int pack_call(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
typedef int unpack_call(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);

size_t typegen_pack(const struct typegen *of, int count, const void *from, void *packed, size_t room)
{
    pack_call *call = (pack_call *)real_mpi_function("MPI_Pack");
    int position = 0;
    if (call(from, count, of->type, packed, (int)room, &position, MPI_COMM_SELF) != MPI_SUCCESS)
        return 0;
    return (size_t)position;
}

void typegen_unpack(const struct typegen *of, int count, void *to, const void *packed, size_t bytes)
{
    unpack_call *call = (unpack_call *)real_mpi_function("MPI_Unpack");
    int position = 0;
    if (bytes > 0) /* MPICH 4.0 divides by the size of the type */
        call(packed, (int)bytes, &position, to, count, of->type, MPI_COMM_SELF);
}

int typegen_disjoint(const struct typegen *of, int count)
{
    MPI_Count lowest;
    size_t span = typegen_span(of, count, &lowest), bytes = (size_t)(of->size * count), marked = 0;
    unsigned char *ones = malloc(bytes + 1), *marks = calloc(span + 1, 1);
    memset(ones, 0xff, bytes);
    typegen_unpack(of, count, marks - lowest, ones, bytes);
    for (size_t i = 0; i < span; i++)
        marked += marks[i] != 0;
    free(ones);
    free(marks);
    return marked == bytes;
}
