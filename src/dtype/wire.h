/* Plans as plain bytes, for another process of the same build. */
#ifndef TUTTI_DTYPE_WIRE_H
#define TUTTI_DTYPE_WIRE_H

#include "dtype/plan.h"

/* Local. Writes `plan` to `bytes` (of `room`); the length, or 0 if it has lists of blocks or there is no room. */
size_t tutti_plan_write(const struct tutti_plan *plan, void *bytes, size_t room);
/* Local. The plan that was written: the one of this process where it has its like. The caller has one reference more.
 * TUTTI_ERR_ARGUMENT where the bytes are no plan. */
int tutti_plan_read(const void *bytes, size_t length, const struct tutti_plan **out);

#endif
