/* One type against its type map. */
#ifndef TUTTI_TESTS_DTYPE_CHECK_TYPE_H
#define TUTTI_TESTS_DTYPE_CHECK_TYPE_H

#include "dtype/describe_any.h"
#include "dtype/plan.h"

enum {
    CHECK_TYPE_ENTRIES = 20000, /* of a map, at most */
    CHECK_TYPE_CANONICAL = 256  /* entries up to which equal layouts have one plan, whatever they were made of */
};

/* Everything about a plan: bounds, the segments' shape, each byte's place, packing and unpacking of a part of `count`
 * elements, and that two other descriptions of the same layout find the same plan. 1 if all is as it must be; what
 * is not is said. */
int check_type(any_type what, uint64_t count, uint64_t *state);

#endif
