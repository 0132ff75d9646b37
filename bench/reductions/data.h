/* Input data that need not be sent: every element follows from a seed, so each rank can compute the input of all
 * ranks and from it the right result. Deliberately written apart from the library's kernels. */
#ifndef TUTTI_BENCH_DATA_H
#define TUTTI_BENCH_DATA_H

#include <stddef.h>
#include <stdint.h>

/* n elements of rank `rank` from element `first` on. Values suit the operator: sums and products stay finite, logical
 * operators see zeros too, equal values occur for MINLOC and MAXLOC. */
void bench_fill(int type, int op, uint64_t seed, int rank, size_t first, size_t n, void *out);

struct bench_wrong {
    size_t element; /* first that is wrong, counted in the vector */
    char got[64], right[64];
};
/* Compares n elements, from element `first` of the vector on, with the contributions of ranks 0, 1 ... ranks - 1
 * combined in this order. exact: every bit; otherwise
 * floating-point results may differ by what another order can make of them. 1 if right, 0 with *wrong set. */
int bench_check(int type, int op, uint64_t seed, int ranks, size_t first, int exact, const void *result, size_t n,
                struct bench_wrong *wrong);

#endif
