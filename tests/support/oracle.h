/* What a reduction must give: a plain computation, one element at a time, in rank order from rank 0. Knows nothing of
 * the library but its lists. Half precision is accumulated in float and rounded once. All pointers are host pointers of
 * any alignment, counts are elements. */
#ifndef TUTTI_TESTS_ORACLE_H
#define TUTTI_TESTS_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

enum oracle_mode {
    ORACLE_PLAIN, /* values whose result is exact in any order of ranks */
    ORACLE_HARD   /* NaN, infinities, signed zeros, denormals, cancellation, wrap-around */
};

struct oracle_case {
    int type, op; /* enum tutti_type, enum tutti_op */
    int bools;    /* 1: values are 0 and 1, as logical types ask for */
    enum oracle_mode mode;
    uint64_t seed;
};

size_t oracle_size(int type); /* bytes of one element */
const char *oracle_type_name(int type);
const char *oracle_op_name(int op);
/* 1 if the standard's table allows the operator on types of this group (enum tutti_group). */
int oracle_legal(int op, int group);
/* 1 if the list has kernels for the operator. */
int oracle_reduces(int op);
/* 1 if the type consists of floating-point numbers. */
int oracle_floating(int type);

/* Contribution of `rank`: elements first, first + 1 ... A value depends on the case, the rank and its own number. There
 * are ORACLE_PERIOD values, a prime number, which come again in another order each time: no part of a transfer looks
 * like another one. */
enum { ORACLE_PERIOD = 4093 };
void oracle_fill(void *out, const struct oracle_case *c, int rank, size_t first, size_t count);
/* Elements first, first + 1 ... by the first ORACLE_PERIOD ones. */
void oracle_spread(void *out, int type, const void *values, size_t first, size_t count);
/* The reduction of all ranks' contributions, by the rules of src/kernels/ops.inc. in[r] may be equal to out. */
void oracle_reduce(void *out, const struct oracle_case *c, int ranks, const void *const in[], size_t count);
/* Index of the first element that differs in a bit, padding included; `count` where none does. Looser, for results of
 * other reductions: ORACLE_NANS: every NaN equals every other, and padding is not compared; ORACLE_VALUES: besides, -0
 * equals 0. */
enum oracle_loose { ORACLE_BITS, ORACLE_VALUES, ORACLE_NANS };
size_t oracle_differ(int type, const void *a, const void *b, size_t count, enum oracle_loose loose);
/* Adds the elements' bytes to a hash. */
uint64_t oracle_digest(uint64_t digest, int type, const void *data, size_t count);
/* One element as text. */
void oracle_text(char *text, size_t size, int type, const void *element);

float oracle_half_to_float(int type, uint16_t bits); /* TUTTI_TYPE_F16 or TUTTI_TYPE_BF16 */
uint16_t oracle_half_from_float(int type, float value);

#endif
