#include "core/types.h"

#include <string.h>

enum type_class { CLASS_INT, CLASS_UINT, CLASS_FLOAT, CLASS_COMPLEX, CLASS_PAIR };

static const struct {
    const char *name;
    size_t size;
    enum type_class class_;
    int unsigned_;
} types[TUTTI_TYPES] = {
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_)                                                          \
    [TUTTI_TYPE_##id] = {name, bytes, CLASS_##class_, TUTTI_TYPE_##unsigned_},
#include "tutti/types.def"
#undef TUTTI_TYPE
};

#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_)                                                          \
    _Static_assert(sizeof(ctype) == (bytes), "size of " name " in types.def");
#include "tutti/types.def"
#undef TUTTI_TYPE

#define CINT    TUTTI_GROUP_CINT
#define FINT    TUTTI_GROUP_FINT
#define FLOAT   TUTTI_GROUP_FLOAT
#define COMPLEX TUTTI_GROUP_COMPLEX
#define LOGICAL TUTTI_GROUP_LOGICAL
#define BYTE    TUTTI_GROUP_BYTE
#define MULTI   TUTTI_GROUP_MULTI
#define PAIR    TUTTI_GROUP_PAIR
static const struct {
    const char *name;
    int kernel, signs, groups;
} ops[TUTTI_OPS] = {
#define TUTTI_OP(id, name, kernel, signs, groups) [TUTTI_OP_##id] = {name, kernel, signs, groups},
#include "tutti/ops.def"
#undef TUTTI_OP
};

static int type_valid(int type)
{
    return type >= 0 && type < TUTTI_TYPES;
}

static int op_valid(int op)
{
    return op >= 0 && op < TUTTI_OPS;
}

size_t tutti_type_size(int type)
{
    return type_valid(type) ? types[type].size : 0;
}

const char *tutti_type_name(int type)
{
    return type_valid(type) ? types[type].name : "no type";
}

const char *tutti_op_name(int op)
{
    return op_valid(op) ? ops[op].name : "no operator";
}

int tutti_type_of(enum tutti_group group, size_t size)
{
    enum type_class want;
    switch (group) {
    case TUTTI_GROUP_CINT:
    case TUTTI_GROUP_FINT:
    case TUTTI_GROUP_MULTI:
        want = CLASS_INT;
        break;
    case TUTTI_GROUP_CUINT:
    case TUTTI_GROUP_LOGICAL:
    case TUTTI_GROUP_BYTE:
        want = CLASS_UINT;
        break;
    case TUTTI_GROUP_FLOAT:
        if (size == 2)
            return TUTTI_TYPE_F16; /* bfloat16 has no MPI name: it is Tutti's own handle */
        want = CLASS_FLOAT;
        break;
    case TUTTI_GROUP_COMPLEX:
        want = CLASS_COMPLEX;
        break;
    default:
        return TUTTI_TYPE_NONE; /* pairs are named one by one */
    }
    for (int t = 0; t < TUTTI_TYPES; t++) {
        if (types[t].class_ == want && types[t].size == size)
            return t;
    }
    return TUTTI_TYPE_NONE;
}

int tutti_legal(int op, enum tutti_group group)
{
    if (!op_valid(op) || !ops[op].kernel)
        return 0;
    int as = group == TUTTI_GROUP_CUINT ? TUTTI_GROUP_CINT : (int)group;
    return (ops[op].groups & as) != 0;
}

int tutti_has_kernel(int type, int op)
{
    if (!type_valid(type) || !op_valid(op) || !ops[op].kernel)
        return 0;
    switch (types[type].class_) {
    case CLASS_INT:
    case CLASS_UINT:
        return (ops[op].groups & (CINT | FINT | LOGICAL | BYTE | MULTI)) != 0;
    case CLASS_FLOAT:
        return (ops[op].groups & FLOAT) != 0;
    case CLASS_COMPLEX:
        return (ops[op].groups & COMPLEX) != 0;
    case CLASS_PAIR:
        return (ops[op].groups & PAIR) != 0;
    }
    return 0;
}

int tutti_kernel_type(int type, int op)
{
    if (!type_valid(type) || !op_valid(op) || ops[op].signs)
        return type;
    return types[type].unsigned_;
}
