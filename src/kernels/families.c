#include "kernels/families.h"

#include <stddef.h>

#include "core/types.h"
#include "kernels/elements.h"

#define TOP(value) (UINT64_C(1) << (8 * sizeof(value) - 1))
/* Turns the order of values round: of numbers in binary by the sign alone, of integers by all bits. */
#define REVERSING(value)       ((__typeof__(value))0.5 != 0 ? TOP(value) : UINT64_MAX >> (64 - 8 * sizeof(value)))
#define REVERSES_INT(type)     REVERSING(*(type *)0)
#define REVERSES_UINT(type)    REVERSING(*(type *)0)
#define REVERSES_FLOAT(type)   REVERSING(*(type *)0)
#define REVERSES_COMPLEX(type) 0
#define REVERSES_PAIR(type)    REVERSING(((type *)0)->value)
/* Signed integers are in order as unsigned ones with the top bit turned round. */
#define SIGN_INT(type)     TOP(*(type *)0)
#define SIGN_UINT(type)    0
#define SIGN_FLOAT(type)   0
#define SIGN_COMPLEX(type) 0
#define SIGN_PAIR(type)    0

static const struct {
    uint64_t reverses, sign;
    int unsigned_;
} types[TUTTI_TYPES] = {
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned__)                                                         \
    [TUTTI_TYPE_##id] = {.reverses = REVERSES_##class_(tutti_a_##id),                                                  \
                         .sign = SIGN_##class_(tutti_a_##id),                                                          \
                         .unsigned_ = TUTTI_TYPE_##unsigned__},
#include "tutti/types.def"
#undef TUTTI_TYPE
};

enum family { SUM, PROD, ORDER, LOGIC, BITS, LOC };
static const struct {
    const char *name;
    enum family family;
    int reversed, mixed;
} ops[TUTTI_OPS] = {
#define TUTTI_FAMILY_OP(op, family, reversed, mixed) [TUTTI_OP_##op] = {#family, family, reversed, mixed},
#include "kernels/families.def"
#undef TUTTI_FAMILY_OP
};

struct tutti_served tutti_kernel_served(int type, int op)
{
    struct tutti_served out = {.type = TUTTI_TYPE_NONE};
    if (!tutti_has_kernel(type, op))
        return out;
    out.type = types[type].unsigned_;
    out.family = ops[op].name;
    if (ops[op].reversed)
        out.sense.flip = ops[op].family == LOGIC  ? 1
                         : ops[op].family == BITS ? UINT64_MAX /* of whole words of any content */
                                                  : types[type].reverses;
    if (ops[op].family == ORDER)
        out.sense.flip ^= types[type].sign;
    out.sense.mix = ops[op].mixed ? UINT64_MAX : 0;
    return out;
}
