/* The layouts of a halo exchange, for the programs that measure packing. */
#ifndef TUTTI_TESTS_GPU_RIM_H
#define TUTTI_TESTS_GPU_RIM_H

#include "core/status.h"
#include "dtype/plan.h"

enum { RIM = 3, RIM_WAYS = 27, RIM_OWN = 13 };

/* What goes in direction k (RIM_OWN is none): of inner^3 cells of `cell` bytes with a rim on each side, in `quantities`
 * arrays, one behind the other. Sets the numbers of cells, slowest dimension first. NULL: the plan cannot be built. */
static inline const struct tutti_plan *rim_plan(int k, uint64_t inner, uint64_t cell, uint64_t quantities,
                                                uint64_t cells[3])
{
    const uint64_t side = inner + 2 * RIM;
    const int way[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
    uint64_t sizes[3], starts[3];
    for (int d = 0; d < 3; d++) {
        sizes[d] = side;
        cells[d] = way[d] ? RIM : inner;
        starts[d] = way[d] > 0 ? inner : RIM;
    }
    const struct tutti_description bytes = {.form = TUTTI_FORM_BYTES, .bytes = cell}, *one = &bytes;
    const struct tutti_description box = {.form = TUTTI_FORM_SUBARRAY,
                                          .children = 1,
                                          .child = &one,
                                          .dims = 3,
                                          .sizes = sizes,
                                          .subsizes = cells,
                                          .starts = starts},
                                   *boxes = &box;
    const struct tutti_description all = {.form = TUTTI_FORM_VECTOR,
                                          .children = 1,
                                          .child = &boxes,
                                          .count = quantities,
                                          .length = 1,
                                          .stride = (int64_t)(side * side * side * cell)};
    const struct tutti_plan *plan = NULL;
    return tutti_plan_build(&all, &plan) == TUTTI_OK ? plan : NULL;
}

#endif
