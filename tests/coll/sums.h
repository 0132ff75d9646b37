/* Reductions of tests over a team of threads: a sum of int in device memory. */
#ifndef TUTTI_TEST_COLL_SUMS_H
#define TUTTI_TEST_COLL_SUMS_H

#include "coll/coll.h"

static inline struct tutti_call sum_call(enum tutti_collective collective, const int *in, int *out, size_t count)
{
    return (struct tutti_call){.collective = collective,
                               .in = in,
                               .out = out,
                               .count = count,
                               .type = TUTTI_TYPE_I32,
                               .op = TUTTI_OP_SUM,
                               .kind = TUTTI_ARRIVAL_DEVICE,
                               .gpu = -1};
}

#endif
