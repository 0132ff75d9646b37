/* MPI handles to element types and operators: two small hash tables, filled at MPI_Init and only read afterwards. */
#include "mpi/door.h"

#include <string.h>

#include "mpi/stub.h"

enum { TYPE_SLOTS = 256, OP_SLOTS = 64 };

static struct tutti_type_row types[TYPE_SLOTS];
static struct {
    MPI_Op handle;
    int op;
} ops[OP_SLOTS];
static int filled[TYPE_SLOTS], ops_filled[OP_SLOTS];
static MPI_Datatype half[2];
static int half_made;

static unsigned hash(uint64_t key, unsigned slots)
{
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 40) & (slots - 1);
}

const struct tutti_type_row *tutti_type_find(MPI_Datatype handle)
{
    for (unsigned i = hash((uint64_t)(uintptr_t)handle, TYPE_SLOTS); filled[i]; i = (i + 1) & (TYPE_SLOTS - 1)) {
        if (types[i].handle == handle)
            return &types[i];
    }
    return NULL;
}

int tutti_op_find(MPI_Op handle)
{
    for (unsigned i = hash((uint64_t)(uintptr_t)handle, OP_SLOTS); ops_filled[i]; i = (i + 1) & (OP_SLOTS - 1)) {
        if (ops[i].handle == handle)
            return ops[i].op;
    }
    return TUTTI_OP_NONE;
}

static void add_type(MPI_Datatype handle, int type, enum tutti_group group, int host_ok)
{
    if (type == TUTTI_TYPE_NONE || tutti_type_find(handle))
        return;
    unsigned i = hash((uint64_t)(uintptr_t)handle, TYPE_SLOTS);
    while (filled[i])
        i = (i + 1) & (TYPE_SLOTS - 1);
    types[i] = (struct tutti_type_row){handle, type, 0, host_ok, tutti_type_size(type)};
    for (int op = 0; op < TUTTI_OPS; op++) {
        if (tutti_legal(op, group) && tutti_has_kernel(type, op))
            types[i].legal |= 1u << op;
    }
    filled[i] = 1;
}

static void add_op(MPI_Op handle, int op)
{
    unsigned i = hash((uint64_t)(uintptr_t)handle, OP_SLOTS);
    while (ops_filled[i])
        i = (i + 1) & (OP_SLOTS - 1);
    ops[i].handle = handle;
    ops[i].op = op;
    ops_filled[i] = 1;
}

/* Bytes of a type that this MPI may not have; 0 if so. */
static size_t size_of(MPI_Datatype type)
{
    int size = 0;
    if (!type || type == tutti_handles.no_type || tutti_real.MPI_Type_size(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (size_t)size;
}

static MPI_Datatype make_half(const char *name)
{
    MPI_Datatype type = tutti_handles.no_type;
    if (tutti_real.MPI_Type_contiguous(2, tutti_handles.byte, &type) != MPI_SUCCESS ||
        tutti_real.MPI_Type_commit(&type) != MPI_SUCCESS)
        return tutti_handles.no_type;
    tutti_real.MPI_Type_set_name(type, name);
    return type;
}

void tutti_types_open(void)
{
#define TUTTI_MPI_TYPE(handle, group)                                                                                  \
    add_type(handle, tutti_type_of(TUTTI_GROUP_##group, size_of(handle)),                                              \
             TUTTI_GROUP_##group == TUTTI_GROUP_CUINT ? TUTTI_GROUP_CINT : TUTTI_GROUP_##group, 1);
#define TUTTI_MPI_PAIR(handle, element)                                                                                \
    add_type(handle, size_of(handle) ? TUTTI_TYPE_##element : TUTTI_TYPE_NONE, TUTTI_GROUP_PAIR, 1);
#include "tutti/mpi_types.def"
#undef TUTTI_MPI_TYPE
#undef TUTTI_MPI_PAIR
#define TUTTI_OP(id, name, kernel, signs, groups)                                                                      \
    if (kernel)                                                                                                        \
        add_op(MPI_##id, TUTTI_OP_##id);
#include "tutti/ops.def"
#undef TUTTI_OP
    half[TUTTI_MPIX_FLOAT16] = make_half("MPIX_C_FLOAT16");
    half[TUTTI_MPIX_BF16] = make_half("MPIX_C_BF16");
    half_made = 1;
    add_type(half[TUTTI_MPIX_FLOAT16], TUTTI_TYPE_F16, TUTTI_GROUP_FLOAT, 0);
    add_type(half[TUTTI_MPIX_BF16], TUTTI_TYPE_BF16, TUTTI_GROUP_FLOAT, 0);
#ifdef MPIX_C_FLOAT16
    if (size_of(MPIX_C_FLOAT16) == 2)
        add_type(MPIX_C_FLOAT16, TUTTI_TYPE_F16, TUTTI_GROUP_FLOAT, 0);
#endif
#ifdef MPIX_BFLOAT16
    if (size_of(MPIX_BFLOAT16) == 2)
        add_type(MPIX_BFLOAT16, TUTTI_TYPE_BF16, TUTTI_GROUP_FLOAT, 0);
#endif
}

void tutti_types_close(void)
{
    for (int which = 0; half_made && which < 2; which++) {
        if (half[which] != tutti_handles.no_type)
            tutti_real.MPI_Type_free(&half[which]);
    }
    half_made = 0;
}

int tutti_half_type(int which, MPI_Datatype *out)
{
    if (!half_made || which < 0 || which > 1 || half[which] == tutti_handles.no_type)
        return -1;
    *out = half[which];
    return 0;
}
