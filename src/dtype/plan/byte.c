/* The plan of one byte. */
#include <stdatomic.h>

#include "core/status.h"
#include "dtype/describe.h"
#include "dtype/plan.h"

const struct tutti_plan *tutti_plan_of_byte(void)
{
    static _Atomic(const struct tutti_plan *) kept;
    const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 1};
    const struct tutti_plan *plan = kept, *none = NULL;
    if (!plan && tutti_plan_build(&byte, &plan) == TUTTI_OK && !atomic_compare_exchange_strong(&kept, &none, plan)) {
        tutti_plan_drop(plan);
        plan = none;
    }
    return plan;
}
