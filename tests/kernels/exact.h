/* What the kernels must give, to the bit: each operator written out element by element with other means than the
 * library's (wide integers, double, ldexp), and values that hurt. */
#ifndef TUTTI_TESTS_KERNELS_EXACT_H
#define TUTTI_TESTS_KERNELS_EXACT_H

#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/* Seed of this process, printed once: TEST_SEED or the clock. */
uint64_t exact_seed(void);
uint64_t exact_random(uint64_t *state);

/* Fills n elements, some random, some chosen to hurt: extremes, NaN with payloads, infinities, signed zeros,
 * subnormals, values that cancel; padding is random too. */
void exact_fill(uint64_t *state, int type, void *out, size_t n);
/* out = in[0] op in[1] ... op in[ranks-1] of one element each, by the rules of src/kernels/ops.inc. */
void exact_reduce(int type, int op, unsigned ranks, const void *const in[], void *out);

double exact_from_half(int type, uint16_t half);
uint16_t exact_to_half(int type, double value); /* nearest, ties to even; NaN: the canonical one */

#endif
